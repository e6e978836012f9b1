"""The built-in tools: a module with a typed function for each family of native tools."""
