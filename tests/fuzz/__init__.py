"""Random whole programs that try to make asphalt change a result: see docs/fuzzing.md."""
