! What charged programs call: the time of their computation goes to the clock of the simulation.
!
! External procedures without interfaces, in a file of their own: SMPI's MPI module declares
! smpi_execute_flops, which would clash here, and files in fixed form call them as well.
!
! Charges add up in memory and reach the clock before the next call that may communicate, so that a
! charge costs the simulation no more than an addition.  ASPHALT_CHARGE in the environment is a
! factor for all charges: 0 leaves communication alone.
!
! Pages of memory cost time when something is stored in them first.  Which of them are new depends
! on the C library, whose rules are followed here (malloc of glibc, its M_MMAP_THRESHOLD): a large
! block comes from the system, with new pages, and goes back to it; blocks of up to 32 MiB come from
! the heap as soon as one as large was given back, and the heap keeps its pages.

!> Adds the time of some computation, in seconds on the machine that was calibrated.  In a parallel
!> region of OpenMP only the first thread counts.
subroutine asphalt_charge(seconds)
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), intent(in) :: seconds
  real(real64) :: pending
  common /asphalt_pending/ pending

!$ if (omp_get_thread_num() /= 0) return
  pending = pending + seconds
end subroutine asphalt_charge


!> Lets the clock of the simulation pass what has been charged since the last time.  Before MPI_Init
!> a rank has no lane in the traces of SMPI, which would end the program; the charge waits for the
!> first call behind it.
subroutine asphalt_charge_now()
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64), parameter :: flops_a_second = 1e9_real64
  real(real64), save :: factor = -1
  real(real64) :: pending, flops
  common /asphalt_pending/ pending
  character(len=64) :: text
  integer :: status
  logical, save :: initialized = .false.
  external :: MPI_Initialized, smpi_execute_flops

!$ if (omp_get_thread_num() /= 0) return
  if (pending <= 0) return
  if (.not. initialized) call MPI_Initialized(initialized, status)
  if (.not. initialized) return
  if (factor < 0) then
    factor = 1
    call get_environment_variable('ASPHALT_CHARGE', text, status=status)
    if (status == 0) read (text, *, iostat=status) factor
    if (status > 0) factor = 1
  end if
  flops = pending*factor*flops_a_second
  pending = 0
  if (flops > 0) call smpi_execute_flops(flops)
end subroutine asphalt_charge_now


block data asphalt_charges
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  real(real64) :: pending
  common /asphalt_pending/ pending
  data pending /0/
end block data asphalt_charges


!> The large blocks of memory of which some pages have not been touched, by their addresses.
module asphalt_pages
  use, intrinsic :: iso_c_binding, only: c_intptr_t
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private
  public :: add_block, is_block, new_block, touched

  integer(int64), parameter, public :: smallest = 131072, largest = 33554432
  integer(int64), parameter :: page = 4096
  integer, parameter, public :: static = 0  ! the site of what is not allocated

  !> Bytes from `first` on; `fresh` of its pages are not touched.  `site`: where it was allocated.
  type :: block_t
    integer(c_intptr_t) :: first = 0
    integer(int64) :: bytes = 0, fresh = 0
    integer :: site = 0
    logical, allocatable :: touched(:)
  end type block_t

  !> An object of an ALLOCATE statement: its last block, whether that came from the system, and how
  !> many bytes of the heap its blocks had at most.
  type :: site_t
    integer :: name = 0
    integer(c_intptr_t) :: first = 0
    integer(int64) :: bytes = 0, heap = 0
    logical :: mapped = .false.
  end type site_t

  type(block_t), allocatable, save :: blocks(:)
  type(site_t), allocatable, save :: sites(:)
  integer, save :: used = 0, known = 0
  integer, save, public :: unfinished = 0  ! blocks with new pages
  integer(int64), save :: threshold = smallest

contains

  !> The number of the block that holds an address, else 0.
  pure integer function is_block(at)
    integer(c_intptr_t), intent(in) :: at
    integer :: i

    is_block = 0
    do i = 1, used
      if (at >= blocks(i)%first .and. at - blocks(i)%first < blocks(i)%bytes) then
        is_block = i
        return
      end if
    end do
  end function is_block

  !> Forgets all blocks that share bytes with these, and that of the same site.
  subroutine forget_blocks(first, bytes, site)
    integer(c_intptr_t), intent(in) :: first
    integer(int64), intent(in) :: bytes
    integer, intent(in) :: site
    integer :: i

    do i = used, 1, -1
      if (blocks(i)%site == site .or. (first < blocks(i)%first + blocks(i)%bytes &
          .and. blocks(i)%first < first + bytes)) then
        call remove(i)
      end if
    end do
  end subroutine forget_blocks

  !> Another block takes the place of block number `i`.
  subroutine remove(i)
    integer, intent(in) :: i

    if (blocks(i)%fresh > 0) unfinished = unfinished - 1
    if (i < used) blocks(i) = blocks(used)
    deallocate(blocks(used)%touched)
    used = used - 1
  end subroutine remove

  !> One more block, of which the first `resident` bytes were touched before.
  subroutine add_block(first, bytes, site, resident)
    integer(c_intptr_t), intent(in) :: first
    integer(int64), intent(in) :: bytes, resident
    integer, intent(in) :: site
    type(block_t), allocatable :: more(:)

    if (.not. allocated(blocks)) allocate(blocks(64))
    if (used == size(blocks)) then
      allocate(more(2*used))
      more(:used) = blocks
      call move_alloc(more, blocks)
    end if
    used = used + 1
    associate (new => blocks(used))
      new%first = first
      new%bytes = bytes
      new%site = site
      allocate(new%touched(bytes/page))
      new%touched = .false.
      new%touched(:resident/page) = .true.
      new%fresh = bytes/page - resident/page
      if (new%fresh > 0) unfinished = unfinished + 1
    end associate
  end subroutine add_block

  !> The number of a site.
  integer function site_of(name) result(i)
    integer, intent(in) :: name
    type(site_t), allocatable :: more(:)

    do i = 1, known
      if (sites(i)%name == name) return
    end do
    if (.not. allocated(sites)) allocate(sites(64))
    if (known == size(sites)) then
      allocate(more(2*known))
      more(:known) = sites
      call move_alloc(more, sites)
    end if
    known = known + 1
    sites(known)%name = name
  end function site_of

  !> A site has allocated a block.  `once`: perhaps it is still the block before.
  subroutine new_block(first, bytes, name, once)
    integer(c_intptr_t), intent(in) :: first
    integer(int64), intent(in) :: bytes
    integer, intent(in) :: name
    logical, intent(in) :: once
    integer(int64) :: resident
    integer :: number

    number = site_of(name)
    associate (site => sites(number))
      if (once .and. site%first == first .and. site%bytes == bytes) return
      call forget_blocks(first, bytes, name)
      ! the block before it was given back
      if (site%mapped .and. site%bytes <= largest) threshold = max(threshold, site%bytes + 1)
      site%mapped = bytes >= threshold
      site%first = first
      site%bytes = bytes
      resident = 0
      if (.not. site%mapped) then
        resident = min(bytes, site%heap)
        site%heap = max(bytes, site%heap)
      end if
    end associate
    if (bytes >= smallest .and. resident < bytes) call add_block(first, bytes, name, resident)
  end subroutine new_block

  !> How many new pages are touched by `bytes` from `at` on, of the block that holds it; to its end
  !> where the bytes are less than none.
  integer(int64) function touched(at, bytes) result(pages)
    integer(c_intptr_t), intent(in) :: at
    integer(int64), intent(in) :: bytes
    integer(int64) :: one, last
    integer :: i

    pages = 0
    i = is_block(at)
    if (i == 0) return
    if (blocks(i)%fresh == 0) return
    last = size(blocks(i)%touched, kind=int64)
    if (bytes >= 0) last = min(last, (at - blocks(i)%first + bytes - 1)/page + 1)
    do one = (at - blocks(i)%first)/page + 1, last
      if (blocks(i)%touched(one)) cycle
      blocks(i)%touched(one) = .true.
      pages = pages + 1
    end do
    blocks(i)%fresh = blocks(i)%fresh - pages
    if (pages == 0 .or. blocks(i)%fresh > 0) return
    unfinished = unfinished - 1
    if (blocks(i)%site /= static) call remove(i)  ! static ones would be taken for new
  end function touched

end module asphalt_pages


!> An array x of so many bytes has been allocated at `site`, a number for the statement; less than
!> none: it has only if this is not the array that the statement allocated before.
subroutine asphalt_allocated(x, bytes, site)
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use asphalt_pages, only: new_block
  implicit none
  integer(1), intent(in), target :: x(*)
  real(real64), intent(in) :: bytes
  integer, intent(in) :: site

!$ if (omp_get_thread_num() /= 0) return
  call new_block(transfer(c_loc(x), 0_c_intptr_t), int(bytes, int64), site, site < 0)
end subroutine asphalt_allocated


!> Something is stored into `bytes` bytes of memory from x on (to the end of the block, where they
!> are less than none): charges so many seconds for each page of them that is new.
subroutine asphalt_touched(x, bytes, seconds)
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use asphalt_pages, only: touched, unfinished
  implicit none
  integer(1), intent(in), target :: x(*)
  real(real64), intent(in) :: bytes, seconds
  integer(c_intptr_t) :: at
  external :: asphalt_charge

  if (unfinished == 0) return
!$ if (omp_get_thread_num() /= 0) return
  at = transfer(c_loc(x), at)
  call asphalt_charge(seconds*touched(at, int(bytes, int64)))
end subroutine asphalt_touched


!> The same for a whole array that was not allocated, but is there when the program begins.
subroutine asphalt_touched_static(x, bytes, seconds)
!$ use omp_lib, only: omp_get_thread_num
  use, intrinsic :: iso_c_binding, only: c_intptr_t, c_loc
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use asphalt_pages, only: add_block, is_block, smallest, static, touched
  implicit none
  integer(1), intent(in), target :: x(*)
  real(real64), intent(in) :: bytes, seconds
  integer(c_intptr_t) :: at
  external :: asphalt_charge

  if (bytes < smallest) return
!$ if (omp_get_thread_num() /= 0) return
  at = transfer(c_loc(x), at)
  if (is_block(at) == 0) call add_block(at, int(bytes, int64), static, 0_int64)
  call asphalt_charge(seconds*touched(at, int(bytes, int64)))
end subroutine asphalt_touched_static
