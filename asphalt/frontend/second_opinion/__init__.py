"""What fparser and fortls make of the same statements, compared with what asphalt makes of them."""
