"""The intrinsic procedures of Fortran 2018 (16.7), and which of them are pure functions.

Names that compilers add (``etime``, ``sleep``, ``flush`` ...) are not intrinsic here: a program may
have procedures of its own with these names, without a declaration.  The specific names of generic
functions (``dsin``, ``amax1``; F2018 16.8) and the double complex ones that every compiler has are
included.
"""

from __future__ import annotations

from asphalt.support.word_sets import words

_PURE = words(
    """
    abs achar acos acosh adjustl adjustr aimag aint all allocated anint any asin asinh associated
    atan atan2 atanh bessel_j0 bessel_j1 bessel_jn bessel_y0 bessel_y1 bessel_yn bge bgt bit_size
    ble blt btest ceiling char cmplx conjg cos cosh coshape count cshift dble
    digits dim dot_product dprod dshiftl dshiftr eoshift epsilon erf erfc erfc_scaled exp exponent
    extends_type_of findloc float floor fraction gamma huge hypot iachar iall iand iany ibclr ibits
    ibset ichar ieor image_index index int ior iparity is_contiguous is_iostat_end is_iostat_eor
    ishft ishftc kind lbound lcobound leadz len len_trim lge lgt lle llt log log10 log_gamma logical
    maskl maskr matmul max maxexponent maxloc maxval merge merge_bits min minexponent minloc minval
    mod modulo nearest new_line nint norm2 not null num_images out_of_range pack parity popcnt
    poppar precision present product radix range rank real reduce repeat reshape rrspacing
    same_type_as scale scan selected_char_kind selected_int_kind selected_real_kind set_exponent
    shape shifta shiftl shiftr sign sin sinh size spacing spread sqrt storage_size sum tan tanh
    this_image tiny trailz transfer transpose trim ubound ucobound unpack verify
    alog alog10 amax0 amax1 amin0 amin1 amod cabs ccos cexp clog csin csqrt dabs dacos dasin datan
    datan2 dcos dcosh ddim dexp dint dlog dlog10 dmax1 dmin1 dmod dnint dsign dsin dsinh dsqrt dtan
    dtanh iabs idim idint idnint ifix isign max0 max1 min0 min1 sngl
    dconjg dcmplx dimag dreal cdabs cdcos cdexp cdlog cdsin cdsqrt zabs zcos zexp zlog zsin zsqrt
    """
)

# What they give depends on type, shape or status of the argument, never on its value (F2018 16.1).
_INQUIRIES = words(
    """
    allocated associated bit_size coshape digits epsilon extends_type_of huge is_contiguous kind
    lbound lcobound len maxexponent minexponent new_line precision present radix range rank
    same_type_as shape size storage_size tiny ubound ucobound
    """
)

# Functions whose value depends on the machine's or another image's state.
_STATEFUL_FUNCTIONS = words(
    "command_argument_count failed_images get_team image_status stopped_images team_number"
)

# Subroutines that do nothing but define their own arguments.
_PURE_SUBROUTINES = frozenset({"mvbits"})

# Subroutines with hidden state, effects outside of the program, or another image's storage.
_EFFECTFUL_SUBROUTINES = words(
    """
    atomic_add atomic_and atomic_cas atomic_define atomic_fetch_add atomic_fetch_and
    atomic_fetch_or atomic_fetch_xor atomic_or atomic_ref atomic_xor co_broadcast co_max co_min
    co_reduce co_sum cpu_time date_and_time event_query execute_command_line get_command
    get_command_argument get_environment_variable move_alloc random_init random_number random_seed
    system_clock
    """
)

ADDED = words(
    """
    abort chdir dtime etime exit fdate flush getarg getcwd getenv getlog getpid hostnm iargc idate
    irand itime rand rename second sleep srand system unlink
    """
)
"""Procedures that compilers add (the GNU Fortran manual, chapter 9; most of them are in the
portability library of Intel's compiler, too)."""

_ADDED_BEYOND = words(
    """
    access acosd alarm algama and asind atan2d atand besj0 besj1 besjn besy0 besy1 besyn chmod cosd
    cotan cotand ctime dacosd dasind datan2d datand dbesj0 dbesj1 dbesjn dbesy0 dbesy1 dbesyn dcosd
    dcotan dcotand derf derfc dfloat dgamma dlgama dsind dtand fget fgetc fnum fput fputc free fseek
    fstat ftell gerror getgid getuid gmtime ierrno imag imagpart int2 int8 isatty isnan itime kill
    link lnblnk loc long lshift lstat ltime malloc mclock mclock8 or perror ran realpart rshift
    secnds short signal sind sizeof stat symlnk tand time time8 ttynam umask xor
    """
)
"""Others that compilers add (the same chapter); nothing is known of their effects."""

CONSTANT_MACROS = {
    "__file__": "character",
    "__date__": "character",
    "__time__": "character",
    "__timestamp__": "character",
}
"""Macros that every preprocessor defines (C11 6.10.8), with the type of the constants that they
stand for (``__LINE__`` is read as the number of its line)."""

# The same value on every rank that calls it with the same arguments would be wrong for these:
# they ask about this image.
_IMAGE_FUNCTIONS = words("this_image image_index")


def is_intrinsic(name: str) -> bool:
    """Whether a folded name is that of an intrinsic procedure."""
    return (
        name in _PURE
        or name in _STATEFUL_FUNCTIONS
        or name in _PURE_SUBROUTINES
        or name in _EFFECTFUL_SUBROUTINES
    )


def may_be_intrinsic(name: str) -> bool:
    """Whether a compiler may take a folded name for that of an intrinsic procedure, unless the unit
    declares it EXTERNAL."""
    return is_intrinsic(name) or name in ADDED or name in _ADDED_BEYOND


def is_intrinsic_function(name: str) -> bool:
    """Whether a folded name is that of an intrinsic function."""
    return name in _PURE or name in _STATEFUL_FUNCTIONS


def is_pure_function(name: str) -> bool:
    """Whether it is an intrinsic function whose result depends on its arguments alone."""
    return name in _PURE and name not in _IMAGE_FUNCTIONS


def is_inquiry(name: str) -> bool:
    """Whether it is an intrinsic function that does not read the value of its argument."""
    return name in _INQUIRIES


def is_pure_subroutine(name: str) -> bool:
    """Whether it is an intrinsic subroutine that does nothing but define its arguments."""
    return name in _PURE_SUBROUTINES


def has_hidden_effects(name: str) -> bool:
    """Whether it is an intrinsic with hidden state or with effects beyond its arguments."""
    return name in _EFFECTFUL_SUBROUTINES or name in _STATEFUL_FUNCTIONS
