"""Rules for sums with terms of both signs: (signs on a box, sum) -> sign, or None where a rule
fails.

One module a method; each rule states the inequality that it uses. `SUM_RULES` in
`proof.signs.calculus` says in which order they are tried.
"""
