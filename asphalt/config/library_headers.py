"""Files of libraries that programs include without having them."""

from __future__ import annotations

_FFTW = ("fftw_", "fftwf_", "c_fftw_")  # C_FFTW_R2R_KIND is the kind of an enumeration
LIBRARY_HEADERS = {"fftw3.f": ("fftw_",), "fftw3.f03": _FFTW, "fftw3-mpi.f03": _FFTW}
"""Their names, with the beginnings of all names that they declare."""
