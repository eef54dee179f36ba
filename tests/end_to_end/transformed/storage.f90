!> Buffers that are no plain variables passed from their first element on: components, parts of
!! larger arrays, assumed shapes, pointers and targets.
module storage
  use plans, only: buffers, layout => plan, width
  use showing, only: show
  implicit none
  type(layout) :: kept
contains

  subroutine storage_cases(np, me)
    integer, intent(in) :: np, me
    type(layout) :: p
    call component(p, 3, 9, np, me)
    call fixed_component(p, np, me)
    call module_component(2, 7, np, me)
    call one_slot(3, 8, np, me)
    call one_slot_of_slabs(2, 3, np, me)
    call offset(3, 6, np, me)
    call from_second_block(2, 9, np, me)
    call sections(2, 5, np, me)
    call callers_of_assumed(3, 6, np, me)
    call own_pointers(2, 7, np, me)
    call only_a_target(2, 7, np, me)
    call any_pointers(3, 6, np, me)
    call pointer_components(p, 3, 5, np, me)
    call clone_of_a_part(p, 3, 5, np, me)
  end subroutine storage_cases

  subroutine component(Grid, n, nz, np, me)
    use mpi
    type(layout), intent(inout) :: Grid
    integer, intent(in) :: n, nz, np, me
    integer :: i, z, p, ierr
    allocate(Grid%b%send(n,nz,np), Grid%b%Recv(n,nz,np))
    Grid%nz = nz
    Grid%count = n*nz
    do z = 1, Grid%nz
      do p = 1, np
        do i = 1, n
          Grid%b%send(i,z,p) = sqrt(dble(i + 10*z + 100*p + 1000*me))
        end do
      end do
    end do
    call MPI_Alltoall(Grid%b%send(1,1,1), Grid%count, MPI_DOUBLE_PRECISION, &
                      Grid%b%Recv(1,1,1), Grid%count, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('component', Grid%b%recv, n*nz*np)
    deallocate(Grid%b%send, Grid%b%recv)
  end subroutine component

  subroutine fixed_component(p, np, me)
    use mpi
    type(layout), intent(inout) :: p
    integer, intent(in) :: np, me
    integer :: z, ierr
    p%unpack = 0
    do z = 1, 8
      p%pack(:,z,:) = sqrt(dble(z + 100*me))
      p%pack(2,z,1) = me
    end do
    call MPI_Alltoall(p%pack(1,1,1), width*8, MPI_DOUBLE_PRECISION, &
                      p%unpack(1,1,1), width*8, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('fixed component', p%unpack, width*8*np)
  end subroutine fixed_component

  subroutine module_component(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer :: z, j, ierr
    allocate(kept%b%send(n,np*nz,1), kept%b%recv(n,nz*np,1))
    do z = 1, size(kept%b%send, 2)
      do j = 1, n
        kept%b%send(j,z,1) = sqrt(dble(j + 10*z + 1000*me))
      end do
    end do
    call MPI_Alltoall(kept%b%send(:,:,1), n*nz, MPI_DOUBLE_PRECISION, &
                      kept%b%recv(:,:,1), n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('module component', kept%b%recv, n*nz*np)
    deallocate(kept%b%send, kept%b%recv)
  end subroutine module_component

  subroutine one_slot(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: work(n,nz,np,3), there(n,nz,np,2)
    integer :: slot, z, p, ierr
    work = -1
    there = -2
    do slot = 1, 3
      do z = 1, nz
        do p = 1, np
          work(:,z,p,slot) = sqrt(dble(z + 100*p + 1000*me + slot))
        end do
      end do
      call MPI_Alltoall(work(1,1,1,slot), n*nz, MPI_DOUBLE_PRECISION, &
                        there(1,1,1,2), n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
      call show('one slot', there, n*nz*np*2)
    end do
  end subroutine one_slot

  subroutine one_slot_of_slabs(n, block, np, me)
    use mpi
    integer, intent(in) :: n, block, np, me
    real(8) :: work(n,block*np,0:2), there(n,block*np,0:1)
    integer :: slot, k, ierr
    there = -2
    slot = 1
    do k = 1, block*np
      work(:,k,slot) = sqrt(dble(k + 1000*me))
    end do
    call MPI_Alltoall(work(:,:,slot), n*block, MPI_DOUBLE_PRECISION, &
                      there(1,1,1), n*block, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('slot of slabs', there, n*block*np*2)
  end subroutine one_slot_of_slabs

  subroutine offset(n, block, np, me)
    use mpi
    integer, intent(in) :: n, block, np, me
    real(8), allocatable :: s(:), r(:)
    integer :: start, k, ierr
    allocate(s(n + block*np), r(2*n + block*np))
    s = -1
    r = -1
    start = n
    do k = start + 1, start + block*np
      s(k) = sqrt(dble(k + 1000*me))
    end do
    call MPI_Alltoall(s(start + 1), block, MPI_DOUBLE_PRECISION, &
                      r(n + n), block, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('offset', r, size(r))
  end subroutine offset

  subroutine from_second_block(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8), allocatable :: s(:,:,:), r(:,:,:)
    integer :: z, ierr
    allocate(s(n,nz,0:np), r(n,nz,np+1))
    s = -1
    r = -1
    do z = 1, nz
      s(:,z,:) = sqrt(dble(z + 1000*me))
      s(1,z,1) = me
    end do
    call MPI_Alltoall(s(1,1,1), n*nz, MPI_DOUBLE_PRECISION, &
                      r(1,1,2), n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('from the second block', r, size(r))
  end subroutine from_second_block

  subroutine sections(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8) :: s(n,nz,np+1), r(n,nz,np+1)
    integer :: z, ierr
    r = -1
    do z = 1, nz
      s(1:n,z,:) = sqrt(dble(z + 1000*me))
    end do
    call MPI_Alltoall(s(1:n,:,2:np+1), n*nz, MPI_DOUBLE_PRECISION, &
                      r(:,:,2:), n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('sections', r, size(r))
  end subroutine sections

  !> What callers pass may have gaps: then the original call stays.
  subroutine assumed(name, n, nz, s, r, me)
    use mpi
    character(*), intent(in) :: name
    integer, intent(in) :: n, nz, me
    real(8), intent(inout) :: s(:,:,0:), r(:,:,:)
    integer :: z, ierr
    do z = 1, nz
      s(:,z,:) = sqrt(dble(z + 1000*me))
      s(2,z,0) = z
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show(name, r, size(r))
  end subroutine assumed

  subroutine callers_of_assumed(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8), target :: s(2*n,nz,np), wide(n,nz,np)
    real(8) :: r(n,nz,np)
    real(8), pointer :: p(:,:,:)
    s = -1
    r = -1
    call assumed('assumed, contiguous', n, nz, wide, r, me)
    call assumed('assumed, with gaps', n, nz, s(::2,:,:), r, me)
    call assumed('assumed, gaps behind', n, nz, s(:n,:,:), r, me)
    call show('assumed, what was sent', s, size(s))
    p => wide
    if (me == np - 1) p => s(2::2,:,:)
    call assumed('assumed, gaps on one rank', n, nz, p, r, me)
  end subroutine callers_of_assumed

  subroutine own_pointers(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8), pointer :: s(:,:,:), r(:,:,:), other(:)
    real(8), target :: elsewhere(nz)
    integer :: z, ierr
    nullify(s)
    other => elsewhere
    allocate(s(n,nz,np), r(n,nz,np))
    do z = 1, nz
      other(z) = z
      s(:,z,:) = sqrt(other(z) + 1000*me)
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('own pointers', r, size(r))
    call show('another pointer', other, nz)
    deallocate(s, r)
  end subroutine own_pointers

  subroutine only_a_target(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    real(8), target, allocatable :: s(:,:,:)
    real(8), target :: r(n,nz,np)
    integer :: z, ierr
    allocate(s(n,nz,np))
    do z = 1, nz
      s(:,z,:) = sqrt(dble(z + 1000*me))
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('only a target', r, size(r))
  end subroutine only_a_target

  !> The send buffer may be any target, once contiguous and once not; r is not.
  subroutine through_pointer(name, n, nz, np, me, s, other)
    use mpi
    character(*), intent(in) :: name
    integer, intent(in) :: n, nz, np, me
    real(8), pointer, intent(in) :: s(:,:,:), other(:)
    real(8) :: r(n,nz,np)
    integer :: z, p, i, ierr
    do z = 1, nz
      do p = 1, np
        do i = 1, n
          s(i,z,p) = sqrt(dble(i + 10*z + 100*p + 1000*me)) + other(z)
        end do
      end do
    end do
    call MPI_Alltoall(s, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show(name, r, size(r))
    call show(name//', other', other, nz)
  end subroutine through_pointer

  !> `other` is the first column of what is sent: each plane is read after it was written, or before.
  subroutine any_pointers(n, nz, np, me)
    integer, intent(in) :: n, nz, np, me
    real(8), target :: s(n,nz,np), wide(2*n,nz,np)
    real(8), pointer :: p(:,:,:), other(:)
    s = 1
    wide = 2
    p => s
    other => wide(1,:,1)
    call through_pointer('pointer', n, nz, np, me, p, other)
    other => s(1,:,1)
    call through_pointer('pointer, overlapping', n, nz, np, me, p, other)
    p => wide(2::2,:,:)
    call through_pointer('pointer, with gaps', n, nz, np, me, p, other)
    call show('pointers, all', wide, size(wide))
  end subroutine any_pointers

  subroutine pointer_components(p, n, nz, np, me)
    use mpi
    type(layout), intent(inout) :: p
    integer, intent(in) :: n, nz, np, me
    real(8) :: r(n*nz*np)
    integer :: k, ierr
    allocate(p%elsewhere(n*nz*np))
    do k = 1, n*nz*np
      p%elsewhere(k) = sqrt(dble(k + 1000*me))
    end do
    call MPI_Alltoall(p%elsewhere, n*nz, MPI_DOUBLE_PRECISION, r, n*nz, MPI_DOUBLE_PRECISION, &
                      MPI_COMM_WORLD, ierr)
    call show('pointer component', r, size(r))
    deallocate(p%elsewhere)
  end subroutine pointer_components

  !> The nest reads what is received into, which is a part of a component.
  subroutine clone_of_a_part(p, n, nz, np, me)
    use mpi
    type(layout), intent(inout) :: p
    integer, intent(in) :: n, nz, np, me
    integer :: step, z, ierr
    allocate(p%b%send(n,nz,np), p%b%recv(n,nz,np+1))
    p%b%recv = me
    do step = 1, 3
      do z = 1, nz
        p%b%send(:,z,:) = sqrt(p%b%recv(:,z,2:np+1) + z)
        p%b%send(1,z,:) = p%b%recv(1,z,1) + step
      end do
      call MPI_Alltoall(p%b%send(1,1,1), n*nz, MPI_DOUBLE_PRECISION, &
                        p%b%recv(1,1,2), n*nz, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    end do
    call show('clone of a part', p%b%recv, size(p%b%recv))
    deallocate(p%b%send, p%b%recv)
  end subroutine clone_of_a_part

end module storage
