"""Agents, teams, systems and tools as tools of an MCP server."""
