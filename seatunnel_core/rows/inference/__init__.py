"""Columns of rows that declare none: the kinds of their values, types that hold them, and rows that do not fit."""
