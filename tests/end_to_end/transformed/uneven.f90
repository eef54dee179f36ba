!> Blocks of different lengths: MPI_ALLTOALLV.
module uneven
  use showing, only: show, show_integers
  implicit none
contains

  !> The beginnings of blocks that lie one behind the other.
  pure function begins(counts) result(displs)
    integer, intent(in) :: counts(:)
    integer :: displs(size(counts)), p
    displs = [(sum(counts(:p-1)), p=1,size(counts))]
  end function begins

  !> Planes that are dealt as far as they go, of another length on every rank.
  subroutine dealt(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    integer :: zs(0:np-1), ns(0:np-1), lx, lz, i, k, p, most, ierr
    integer, dimension(0:np-1) :: scounts, sdispls, rcounts, rdispls
    real(8), allocatable :: s(:,:), r(:)
    most = (nz + np - 1)/np
    zs = [(max(0, min(most, nz - p*most)), p=0,np-1)]
    ns = [(n + mod(p, 3) - 1, p=0,np-1)]
    lx = ns(me)
    lz = zs(me)
    scounts = lx*zs
    rcounts = ns*lz
    sdispls = begins(scounts)
    rdispls = begins(rcounts)
    allocate(s(lx, nz), r(sum(ns)*lz))
    r = 0
    do k = 1, nz
      do i = 1, lx
        s(i,k) = 1d6*me + 1d3*k + i
      end do
    end do
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('dealt', r, size(r))
    call show_integers('dealt, ends', [k], 1)
  end subroutine dealt

  !> As many planes as the counts say, on every rank others; some ranks have none.
  !> With `turn`, the blocks lie in another order.
  subroutine own_planes(n, turn, np, me)
    use mpi
    integer, intent(in) :: n, np, me
    logical, intent(in) :: turn
    integer, dimension(np) :: scounts, sdispls, rcounts, rdispls
    integer :: k, p, trips, ierr
    real(8), allocatable :: w(:,:), s(:,:), r(:,:)
    scounts = [(n*of_pair(me, p), p=0,np-1)]
    rcounts = [(n*of_pair(p, me), p=0,np-1)]
    trips = sum(scounts)/n
    sdispls = begins(scounts)
    if (turn) sdispls = sum(scounts) - scounts - sdispls
    rdispls = begins(rcounts) + n
    allocate(w(n, 0:trips), s(n, -1:trips-2), r(n, sum(rcounts)/n + 2))
    r = 7
    w = 1
    do k = -1, trips - 2
      w(:,k+1) = dble(k*n + me)/7
    end do
    do k = -1, trips - 2
      s(:,k) = w(n:1:-1,k+1)
    end do
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts(1:np), rdispls, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('own planes', r, size(r))
    call show_integers('own planes, ends', [k], 1)
  end subroutine own_planes

  pure integer function of_pair(from, to)
    integer, intent(in) :: from, to
    of_pair = mod(3*from + 2*to, 5)
    if (from == 1) of_pair = 0
  end function of_pair

  !> A column for each rank, of which the first elements are sent; the counts are columns, too.
  subroutine columns_of_ranks(n, nz, np, me)
    implicit none
    include 'mpif.h'
    integer, intent(in) :: n, nz, np, me
    integer :: counts(np,0:1), displs(np,0:1), i, z, p, ierr
    double precision :: s(n+me,0:nz-1,np), r(2*(n+np)*nz*np)
    do p = 1, np
      counts(p,0) = min((n + me)*nz, 5*p + me)
      counts(p,1) = min((n + p - 1)*nz, 5*me + 5 + p - 1)
      displs(p,0) = (p - 1)*(n + me)*nz
      displs(p,1) = 3 + (p - 1)*(n + np)*nz
    end do
    r = 0
    do z = 0, nz - 1
      do p = 1, np
        do i = 1, n + me
          s(i,z,p) = 10000*me + 1000*p + 100*z + i
        end do
      end do
    end do
    call MPI_ALLTOALLV(s, counts(:,0), displs(:,0), MPI_DOUBLE_PRECISION, r, counts(1:np,1), &
                       displs(1:,1), MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('columns', r, size(r))
    call show_integers('columns, ends', [z], 1)
  end subroutine columns_of_ranks

  !> The loop over the planes is inside of that over the ranks; the time steps change the counts.
  subroutine time_dependent(n, nz, np, me)
    use mpi
    integer, intent(in) :: n, nz, np, me
    type :: lists
      integer, allocatable :: counts(:), displs(:)
    end type lists
    type(lists) :: the
    integer :: step, i, z, p, ierr
    real(8) :: s(n,nz,np), r(n,nz,np)
    allocate(the%counts(0:np-1), the%displs(np))
    r = 0
    the%displs = [(n*nz*(p-1), p=1,np)]
    z = 0
    do step = 0, 3
      the%counts(:) = min(n*nz, 4*step)
      do p = 1, np
        do z = 1, nz
          do i = 1, n
            s(i,z,p) = 1d4*me + 1d3*p + 10*z + i + step
          end do
        end do
      end do
      call MPI_Alltoallv(s, the%counts, the%displs, MPI_DOUBLE_PRECISION, &
                         r, the%counts, the%displs, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
      call show('time dependent', r, size(r))
    end do
    call show_integers('time dependent, ends', [z, p], 2)
  end subroutine time_dependent

  !> Rows for each rank, plane by plane behind each other in its block; some ranks have none.
  !> Flat subscripts say where, in a loop over planes outside of that over ranks, and inside.
  !> With `turn`, the blocks lie in another order.
  subroutine flat_runs(m, n, nz, turn, np, me)
    use mpi
    integer, intent(in) :: m, n, nz, np, me
    logical, intent(in) :: turn
    integer, dimension(0:np-1) :: low, high, scounts, sdispls, rcounts, rdispls
    integer :: i, j, k, p, ierr
    real(8), allocatable :: s(:), t(:), r(:)
    low = [(m*p/np + 1, p=0,np-1)]
    high = [(m*(p + 1)/np, p=0,np-1)]
    scounts = (high - low + 1)*n*nz
    sdispls = begins(scounts)
    if (turn) sdispls = sum(scounts) - scounts - sdispls
    rcounts = (high(me) - low(me) + 1)*n*nz
    rdispls = begins(rcounts)
    allocate(s(m*n*nz), t(0:m*n*nz-1), r(sum(rcounts)))
    r = 0
    s = 0
    t = 0
    do k = 1, nz
      do p = 0, np - 1
        do j = 1, n
          do i = low(p), high(p)
            s(sdispls(p) + 1 + (i - low(p)) + (high(p) - low(p) + 1)*(j - 1 + n*(k - 1))) = &
              1d6*me + 1d4*k + 1d2*j + i
          end do
        end do
      end do
    end do
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('flat runs', r, size(r))
    r = 0
    do p = 0, np - 1
      do k = 1, nz
        do j = 1, n
          do i = 0, high(p) - low(p)
            t(sdispls(p) + i + (high(p) - low(p) + 1)*(n*(k - 1) + j - 1)) = &
              sqrt(1d6*me + 1d4*k + 1d2*j + i)
          end do
        end do
      end do
    end do
    call MPI_Alltoallv(t, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('flat runs inside', r, size(r))
    call show_integers('flat runs, ends', [k, p], 2)
  end subroutine flat_runs

  !> The same with a position that runs through each block.
  subroutine running_position(m, n, nz, turn, np, me)
    use mpi
    integer, intent(in) :: m, n, nz, np, me
    logical, intent(in) :: turn
    integer, dimension(0:np-1) :: low, high, scounts, sdispls, rcounts, rdispls
    integer :: i, j, k, p, at, ierr
    real(8), allocatable :: s(:), r(:)
    low = [(m*p/np + 1, p=0,np-1)]
    high = [(m*(p + 1)/np, p=0,np-1)]
    scounts = (high - low + 1)*n*nz
    sdispls = begins(scounts)
    if (turn) sdispls = sum(scounts) - scounts - sdispls
    rcounts = (high(me) - low(me) + 1)*n*nz
    rdispls = begins(rcounts)
    allocate(s(m*n*nz), r(sum(rcounts)))
    r = 0
    s = 0
    do p = 0, np - 1
      at = sdispls(p) + 1
      do k = 1, nz
        do j = 1, n
          do i = low(p), high(p)
            s(at) = sqrt(1d6*me + 1d4*k + 1d2*j + i)
            at = at + 1
          end do
        end do
      end do
    end do
    call MPI_Alltoallv(s, scounts, sdispls, MPI_DOUBLE_PRECISION, r, rcounts, rdispls, &
                       MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierr)
    call show('running position', r, size(r))
    call show_integers('running position, ends', [k, p], 2)
  end subroutine running_position

end module uneven
