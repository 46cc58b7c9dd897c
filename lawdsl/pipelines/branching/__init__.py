"""Pipeline that branches + table -> fits, answers and kept rows of its steps, with their draws."""
