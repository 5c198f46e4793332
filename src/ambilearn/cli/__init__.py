"""The command line: thin commands, all work is done in the library."""
