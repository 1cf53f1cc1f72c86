"""Sets formulas written in LaTeX: as rows of text, in one line of text, or as MathML."""
