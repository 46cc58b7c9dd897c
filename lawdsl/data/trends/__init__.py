"""Law, table -> the evidence of the measurements for or against the law's claimed trends, without a
fit."""
