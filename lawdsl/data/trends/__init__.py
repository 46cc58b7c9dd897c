"""Law, table -> the evidence of the measurements for or against claimed trends, without a fit."""
