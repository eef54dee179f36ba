"""The meaning of the same statements to fparser and fortls, compared with asphalt's own."""
