! Data types for tiles that are several runs of a block (MPI-4.0 section 5.1.2).
!
! For the other modules of the runtime
!   make_strided   makes the data type of a tile, ready to be used
!   free_type      frees it
!
! Nothing here is for transformed code, and nothing communicates.
module asphalt_datatypes
  use mpi, only: MPI_ADDRESS_KIND, MPI_DATATYPE_NULL, MPI_SUCCESS
  implicit none
  private
  ! for the other modules of the runtime
  public :: make_strided, free_type

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

  !> MPI_Type_free for what `make_strided` has made.
  subroutine free_type(datatype, ierror)
    integer, intent(inout) :: datatype, ierror
    integer :: error

    error = MPI_SUCCESS
    if (datatype /= MPI_DATATYPE_NULL) call MPI_Type_free(datatype, error)
    if (ierror == MPI_SUCCESS) ierror = error
  end subroutine free_type
end module asphalt_datatypes
