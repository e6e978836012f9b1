"""Agents, teams and ready systems behind HTTP."""
