"""Rules for sums with terms of both signs, one module a rule; RULES in signs/calculus says the order."""
