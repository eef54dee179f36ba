! Data types for tiles that are several runs of a block (MPI-4.0 section 5.1.2).
!
! For the other modules of the runtime
!   make_strided   makes the data type of a tile, ready to be used
!   keep_strided   the same, or the type that it has made before for the same tile: these are never
!                  freed, so that such a handle means the same type for ever
!   free_kept      frees them at the end of the program
!   free_type      frees a type that is not kept
!   is_lasting     whether a handle means the same type for ever
!
! Nothing here is for transformed code, and nothing communicates.  No two threads may call
! `keep_strided` at once.
module asphalt_datatypes
  use mpi, only: MPI_ADDRESS_KIND, MPI_COMBINER_NAMED, MPI_DATATYPE_NULL, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: make_strided, keep_strided, free_kept, free_type, is_lasting

  !> A type that is kept, and what it was made from.
  type :: kept_type
    integer, allocatable :: from(:)
    integer :: datatype = MPI_DATATYPE_NULL
  end type kept_type

  integer, parameter :: most_kept = 128
  type(kept_type), save :: kept(most_kept)

contains

  !> Makes the data type of a part of a block, ready to be used in messages of one element.
  !!
  !! `extents`: the sizes of the block's dimensions, the fastest one first; the part has `planes` of
  !! dimension `along`, and all of the others.  `strides`: elements of `datatype` between neighbours
  !! in each dimension; by default the block is contiguous.  The elements of the part follow one
  !! another in the order of the dimensions, wherever they lie.
  subroutine make_strided(datatype, extents, along, planes, new, ierror, strides)
    integer, intent(in) :: datatype, extents(:), along, planes
    integer, intent(out) :: new
    integer, intent(inout) :: ierror
    integer, intent(in), optional :: strides(:)
    integer(MPI_ADDRESS_KIND) :: lower, bytes, apart
    integer(MPI_ADDRESS_KIND) :: distance(size(extents))
    integer :: length(size(extents)), run, dimension, dims, error

    new = MPI_DATATYPE_NULL
    call MPI_Type_get_extent(datatype, lower, bytes, error)
    if (error == MPI_SUCCESS) then
      dims = 0
      run = 1
      apart = bytes
      do dimension = 1, size(extents)
        if (present(strides)) apart = strides(dimension) * bytes
        call add_dimension(merge(planes, extents(dimension), dimension == along), apart)
        apart = apart * extents(dimension)
      end do
      call MPI_Type_contiguous(run, datatype, new, error)
      do dimension = 1, dims
        if (error == MPI_SUCCESS) call enclose(length(dimension), distance(dimension))
      end do
      if (error == MPI_SUCCESS) call MPI_Type_commit(new, error)
    end if
    if (ierror == MPI_SUCCESS) ierror = error

  contains

    !> Adds a dimension, or makes the last one longer where the two are one.
    subroutine add_dimension(count, apart)
      integer, intent(in) :: count
      integer(MPI_ADDRESS_KIND), intent(in) :: apart

      if (count == 1) return
      if (dims == 0) then
        if (apart == run * bytes) then
          run = run * count
          return
        end if
      else if (apart == length(dims) * distance(dims)) then
        length(dims) = length(dims) * count
        return
      end if
      dims = dims + 1
      length(dims) = count
      distance(dims) = apart
    end subroutine add_dimension

    !> `count` times what `new` was, `apart` bytes apart.
    subroutine enclose(count, apart)
      integer, intent(in) :: count
      integer(MPI_ADDRESS_KIND), intent(in) :: apart
      integer :: inner, failed

      inner = new
      call MPI_Type_create_hvector(count, 1, apart, inner, new, error)
      call MPI_Type_free(inner, failed)
      if (error == MPI_SUCCESS) error = failed
    end subroutine enclose
  end subroutine make_strided

  !> `make_strided` with a type that is kept, unless there are too many of them, or `datatype` may
  !! be freed.
  subroutine keep_strided(datatype, extents, along, planes, new, ierror, strides)
    integer, intent(in) :: datatype, extents(:), along, planes
    integer, intent(out) :: new
    integer, intent(inout) :: ierror
    integer, intent(in), optional :: strides(:)
    integer :: from(3 + 2*size(extents)), n
    logical :: same

    from = 0
    from(:3+size(extents)) = [datatype, along, planes, extents]
    if (present(strides)) from(4+size(extents):) = strides
    do n = 1, most_kept
      if (.not. allocated(kept(n)%from)) exit
      same = size(kept(n)%from) == size(from)
      if (same) same = all(kept(n)%from == from)
      if (.not. same) cycle
      new = kept(n)%datatype
      return
    end do
    call make_strided(datatype, extents, along, planes, new, ierror, strides)
    if (n > most_kept .or. ierror /= MPI_SUCCESS) return
    if (.not. is_predefined(datatype)) return
    kept(n)%datatype = new
    kept(n)%from = from
  end subroutine keep_strided

  !> Frees all types that are kept.
  subroutine free_kept()
    integer :: n, error

    do n = 1, most_kept
      if (.not. allocated(kept(n)%from)) return
      call MPI_Type_free(kept(n)%datatype, error)
      deallocate(kept(n)%from)
    end do
  end subroutine free_kept

  !> Whether a type is one of those that are kept.
  pure logical function is_kept(datatype)
    integer, intent(in) :: datatype

    is_kept = datatype /= MPI_DATATYPE_NULL .and. any(kept%datatype == datatype)
  end function is_kept

  !> Whether a type is one of MPI itself.
  logical function is_predefined(datatype)
    integer, intent(in) :: datatype
    integer :: integers, addresses, datatypes, combiner, error

    call MPI_Type_get_envelope(datatype, integers, addresses, datatypes, combiner, error)
    is_predefined = error == MPI_SUCCESS .and. combiner == MPI_COMBINER_NAMED
  end function is_predefined

  !> Whether a handle means the same type for ever: that of a type which may be freed may later mean
  !! another one, with another layout.
  logical function is_lasting(datatype)
    integer, intent(in) :: datatype

    is_lasting = is_kept(datatype)
    if (.not. is_lasting) is_lasting = is_predefined(datatype)
  end function is_lasting

  !> MPI_Type_free for what `make_strided` has made, unless it is kept.
  subroutine free_type(datatype, ierror)
    integer, intent(inout) :: datatype, ierror
    integer :: error

    error = MPI_SUCCESS
    if (is_kept(datatype)) datatype = MPI_DATATYPE_NULL
    if (datatype /= MPI_DATATYPE_NULL) call MPI_Type_free(datatype, error)
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine free_type
end module asphalt_datatypes
