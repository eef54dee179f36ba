"""The form in which a unit is written once all steps are done: calls where the search left what
procedures do as it was."""
