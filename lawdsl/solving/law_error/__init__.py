"""Answers under the noise of the fits and the error of the laws: intervals, regret, safe answers."""
