!> Keys, and the ways to put them in order.
module sorting
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  private
  public :: bucket_of, draw_keys, merge_runs, sort

contains

  !> Keys between 0 and 1, crowded towards 0, so that ranks receive unlike numbers of them.
  subroutine draw_keys(n, step, me, keys)
    integer, intent(in) :: n, step, me
    real(real64), intent(out) :: keys(n)
    integer(int64) :: state
    integer :: i

    state = 12345 + 7919*me + 104729*step
    do i = 1, n
      state = mod(1103515245_int64*state + 12345, 2147483648_int64)
      keys(i) = (state/2147483648.0_real64)**2
    end do
  end subroutine draw_keys

  !> The bucket, from 1, of a key among ascending splitters.
  pure integer function bucket_of(key, splitters)
    real(real64), intent(in) :: key, splitters(:)

    do bucket_of = 1, size(splitters)
      if (key < splitters(bucket_of)) exit
    end do
  end function bucket_of

  !> Sorts ascending, in place (a heap).
  subroutine sort(n, keys)
    integer, intent(in) :: n
    real(real64), intent(inout) :: keys(n)
    real(real64) :: key
    integer :: i, last

    do i = n/2, 1, -1
      call sift(i, n, keys)
    end do
    do last = n, 2, -1
      key = keys(1)
      keys(1) = keys(last)
      keys(last) = key
      call sift(1, last - 1, keys)
    end do
  end subroutine sort

  !> Lets keys(top) sink to its place in the heap keys(top:last).
  subroutine sift(top, last, keys)
    integer, intent(in) :: top, last
    real(real64), intent(inout) :: keys(*)
    real(real64) :: key
    integer :: parent, child

    key = keys(top)
    parent = top
    do
      child = 2*parent
      if (child > last) exit
      if (child < last) then
        if (keys(child) < keys(child + 1)) child = child + 1
      end if
      if (.not. key < keys(child)) exit
      keys(parent) = keys(child)
      parent = child
    end do
    keys(parent) = key
  end subroutine sift

  !> Merges the ascending runs keys(offsets(p)+1 : offsets(p+1)) into one.
  subroutine merge_runs(runs, offsets, keys)
    integer, intent(in) :: runs, offsets(runs + 1)
    real(real64), intent(inout) :: keys(:)
    real(real64) :: merged(offsets(runs + 1))
    integer :: run, i, left, right, middle

    do run = 2, runs
      middle = offsets(run)
      left = 1
      right = middle + 1
      do i = 1, offsets(run + 1)
        if (right > offsets(run + 1)) then
          merged(i) = keys(left)
          left = left + 1
        else if (left > middle) then
          merged(i) = keys(right)
          right = right + 1
        else if (keys(right) < keys(left)) then
          merged(i) = keys(right)
          right = right + 1
        else
          merged(i) = keys(left)
          left = left + 1
        end if
      end do
      keys(1:offsets(run + 1)) = merged(1:offsets(run + 1))
    end do
  end subroutine merge_runs

end module sorting
