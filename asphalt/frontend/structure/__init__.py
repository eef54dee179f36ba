"""From split statements to the tree of program units and constructs."""
