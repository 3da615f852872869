"""The parts of taeda.library, a concept a file."""
