"""Answers under noise and the error of the laws: their intervals, their regret, safe answers."""
