"""Arithmetic of comparisons: plain values in, plain values out. No Django, no input or output."""
