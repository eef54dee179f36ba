"""asphalt: make the communication of Fortran MPI programs overlap their computation, by proof."""

__version__ = "0.1.0"
