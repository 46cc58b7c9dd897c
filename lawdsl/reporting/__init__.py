"""Any result -> what a person or a program reads."""
