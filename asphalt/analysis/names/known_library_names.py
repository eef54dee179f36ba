"""Names of well-known libraries: whose modules have no intrinsic procedures among their names, and
whose procedures neither set an error handler of MPI nor call one of the program's procedures unless
it is an argument.

The libraries are BLAS and LAPACK (netlib.org), FFTW 3 (and the calls of FFTW 2), HDF5, NetCDF and
PnetCDF, and the OpenMP run-time library.  What a procedure does with its arguments stands in
``effects.known_library_rows``, as far as it is known.
"""

from __future__ import annotations

from functools import cache

from asphalt.support.word_sets import words

LIBRARY_MODULES = words(
    "blas95 f95_precision h5ds h5global h5im h5lib h5lt h5tb hdf5 lapack95 mkl_dfti mkl_service"
    " netcdf netcdf_f03 netcdf_fortv2_c_interfaces netcdf_nc_data netcdf_nf_data"
    " netcdf_nf_interfaces pnetcdf"
)
"""Modules of libraries that come without their source."""
RUNTIME_OF_THREADS = "omp_"
"""How the names of the procedures of OpenMP's run-time library begin."""

_PREFIXES = (
    "fftw_", "fftwf_", "fftwl_", "fftwq_", "dfftw_", "sfftw_", "lfftw_",
    "fftw_f77_", "rfftw_f77_", "fftwnd_f77_", "rfftwnd_f77_",
    "h5_", "h5a", "h5d", "h5e", "h5f", "h5g", "h5i", "h5l", "h5o", "h5p", "h5r", "h5s", "h5t",
    "h5z",
    "nf_", "nf90_", "nf90mpi_", "nfmpi_", RUNTIME_OF_THREADS,
)  # fmt: skip
_H5_ENDING = "_f"

# netlib.org/blas: the reference BLAS, without the letter of the precision
_BLAS = words(
    "asum axpy copy dot dotc dotu gbmv gemm gemv ger gerc geru hbmv hemm hemv her her2 her2k herk"
    " hpmv hpr hpr2 nrm2 rot rotg rotm rotmg sbmv scal spmv spr spr2 swap symm symv syr syr2 syr2k"
    " syrk tbmv tbsv tpmv tpsv trmm trmv trsm trsv"
)
_MORE_BLAS = words(
    "csrot csscal ilaenv ilaver dcabs1 dsdot dzasum dznrm2 icamax idamax isamax izamax lsame scabs1"
    " scasum scnrm2 sdsdot xerbla xerbla_array zdrot zdscal"
)
# LAPACK Users' Guide, section 2.2.3: the kind of the matrix, then what is computed
_MATRICES = words(
    "bb bd di ga gb ge gg gt hb he hg hp hs op or pb po pp pt sb sp st sy tb tg tp tr tz un up"
)
_COMPUTED = words(
    "bak bal bdc brd con ebz edc ein eqr eqz equ equb erf es esx ev evc evd evr evx exc gbr ghr glq"
    " gql gqr grq gs2 gst gtr gv gvd gvx hrd l2 lq2 lqf ls lsd lse lss lsx lsy lqt mbr mhr ml2 mlq"
    " mql mqr mr2 mrq mtr mrz ql2 qlf qp3 qpf qr2 qrf qrt rfs rfsx rq2 rqf rscl rzf sdc sdd sen sja"
    " sna stf sv svd svj svp svx svxx syl td2 tf2 trd trf tri trs trs2 tri2 trf2 ttf ttr tfp ttp"
    " glm egr ebz gbd"
)
# the auxiliary routines that programs call themselves, without the letter
_AUXILIARY = words(
    "labad lacpy laev2 lae2 lag2c lag2d lagtm laisnan lamch lange langb langt lanhb lanhe lanhp"
    " lanhs lanht lansb lansp lanst lansy lantb lantp lantr lapll lapmr lapmt lapy2 lapy3 larf"
    " larfb larfg larft larnv lartg laruv lascl laset lasrt lassq laswp lauum"
)


@cache
def is_library_name(name: str) -> bool:
    """Whether a folded name is, in these libraries, that of a procedure (or could be: HDF5, NetCDF
    and FFTW are recognised by the beginnings of their names)."""
    if name.startswith(_PREFIXES):
        return not name.startswith("h5") or name.endswith(_H5_ENDING)
    if name in _MORE_BLAS:
        return True
    letter, rest = name[:1], name[1:]
    if letter not in ("s", "d", "c", "z") or not rest:
        return False
    if rest in _BLAS:
        return True
    kind, computed = rest[:2], rest[2:]
    return rest in _AUXILIARY or (kind in _MATRICES and computed in _COMPUTED)
