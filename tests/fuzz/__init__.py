"""Random whole programs that try to make asphalt change a result: see docs/fuzzing.md."""

from asphalt.analysis_manager.internal_errors import InternalErrors

InternalErrors.raised = True  # a failure of asphalt itself is what the fuzzers look for
