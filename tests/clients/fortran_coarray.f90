! SPDX-License-Identifier: BSD-3-Clause
! fortran_coarray.f90: what a compiler makes of a coarray program, in Fortran 2018. It calls the library's functions through
! iso_c_binding, without a line of C: coindexed assignments are puts and gets, sync all is a barrier, co_sum a reduction,
! teams come from gex_TM_Split, and error stop is gasnet_exit.
module gasnet_binding
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    function gex_Client_Init(client, ep, tm, name, argc, argv, flags) bind(c, name="gex_Client_Init") result(status)
      import :: c_ptr, c_char, c_int, c_int32_t
      type(c_ptr), intent(out) :: client, ep, tm
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: argc, argv
      integer(c_int32_t), value :: flags
      integer(c_int) :: status
    end function
    function gex_Segment_Attach(segment, tm, length) bind(c, name="gex_Segment_Attach") result(status)
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), intent(out) :: segment
      type(c_ptr), value :: tm
      integer(c_size_t), value :: length
      integer(c_int) :: status
    end function
    function gex_EP_QueryBoundSegmentNB(tm, rank, owner, local, length, flags) &
        bind(c, name="gex_EP_QueryBoundSegmentNB") result(event)
      import :: c_ptr, c_int32_t, c_size_t
      type(c_ptr), value :: tm
      integer(c_int32_t), value :: rank, flags
      type(c_ptr), intent(out) :: owner, local
      integer(c_size_t), intent(out) :: length
      type(c_ptr) :: event
    end function
    function gex_TM_QueryRank(tm) bind(c, name="gex_TM_QueryRank") result(rank)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: tm
      integer(c_int32_t) :: rank
    end function
    function gex_TM_QuerySize(tm) bind(c, name="gex_TM_QuerySize") result(size)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: tm
      integer(c_int32_t) :: size
    end function
    function gex_TM_Split(new_tm, parent, color, key, scratch, length, flags) bind(c, name="gex_TM_Split") result(got)
      import :: c_ptr, c_int, c_int32_t, c_size_t
      type(c_ptr), intent(out) :: new_tm
      type(c_ptr), value :: parent, scratch
      integer(c_int), value :: color, key
      integer(c_size_t), value :: length
      integer(c_int32_t), value :: flags
      integer(c_size_t) :: got
    end function
    function gex_TM_Destroy(tm, scratch, flags) bind(c, name="gex_TM_Destroy") result(written)
      import :: c_ptr, c_int, c_int32_t
      type(c_ptr), value :: tm, scratch
      integer(c_int32_t), value :: flags
      integer(c_int) :: written
    end function
    function gex_RMA_PutBlocking(tm, rank, dest, src, length, flags) bind(c, name="gex_RMA_PutBlocking") result(refused)
      import :: c_ptr, c_int, c_int32_t, c_size_t
      type(c_ptr), value :: tm, dest, src
      integer(c_int32_t), value :: rank, flags
      integer(c_size_t), value :: length
      integer(c_int) :: refused
    end function
    function gex_RMA_GetBlocking(tm, dest, rank, src, length, flags) bind(c, name="gex_RMA_GetBlocking") result(refused)
      import :: c_ptr, c_int, c_int32_t, c_size_t
      type(c_ptr), value :: tm, dest, src
      integer(c_int32_t), value :: rank, flags
      integer(c_size_t), value :: length
      integer(c_int) :: refused
    end function
    function gex_Coll_BarrierNB(tm, flags) bind(c, name="gex_Coll_BarrierNB") result(event)
      import :: c_ptr, c_int32_t
      type(c_ptr), value :: tm
      integer(c_int32_t), value :: flags
      type(c_ptr) :: event
    end function
    function gex_Coll_ReduceToAllNB(tm, dst, src, dt, dt_size, count, op, fn, cdata, flags) &
        bind(c, name="gex_Coll_ReduceToAllNB") result(event)
      import :: c_ptr, c_funptr, c_int32_t, c_size_t
      type(c_ptr), value :: tm, dst, src, cdata
      integer(c_int32_t), value :: dt, op, flags
      integer(c_size_t), value :: dt_size, count
      type(c_funptr), value :: fn
      type(c_ptr) :: event
    end function
    subroutine gex_Event_Wait(event) bind(c, name="gex_Event_Wait")
      import :: c_ptr
      type(c_ptr), value :: event
    end subroutine
    subroutine gasnet_exit(code) bind(c, name="gasnet_exit")
      import :: c_int
      integer(c_int), value :: code
    end subroutine
  end interface
  integer(c_int32_t), parameter :: dt_dbl = ishft(1, 5), op_add = ishft(1, 3), no_scratch = ishft(1, 5)
end module

module coarrays
  use, intrinsic :: iso_fortran_env, only: error_unit
  use gasnet_binding
  implicit none
  type(c_ptr) :: world, client, endpoint, segment
  integer(c_int32_t) :: images, me
  integer, parameter :: n = 100
  real(c_double), pointer :: a(:) ! this image's part of real(8) :: a(n)[*]
  type(c_ptr), allocatable :: base(:)
contains
  subroutine error_stop(what, got, expected)
    character(*), intent(in) :: what
    real(c_double), intent(in) :: got, expected
    write (error_unit, *) "image", me, ":", what, got, "instead of", expected
    call gasnet_exit(1_c_int)
  end subroutine

  subroutine check(what, got, expected)
    character(*), intent(in) :: what
    real(c_double), intent(in) :: got, expected
    if (got /= expected) call error_stop(what, got, expected)
  end subroutine

  subroutine sync_all()
    call gex_Event_Wait(gex_Coll_BarrierNB(world, 0))
  end subroutine

  ! a(i)[image] = value; images count from 1
  subroutine put(image, i, value)
    integer, intent(in) :: image, i
    real(c_double), intent(in), target :: value
    type(c_ptr) :: there
    there = transfer(transfer(base(image), 0_c_intptr_t) + (i - 1) * 8_c_intptr_t, there)
    if (gex_RMA_PutBlocking(world, image - 1, there, c_loc(value), 8_c_size_t, 0) /= 0) error stop "put"
  end subroutine

  function get(image, i) result(value)
    integer, intent(in) :: image, i
    real(c_double), target :: value
    type(c_ptr) :: there
    there = transfer(transfer(base(image), 0_c_intptr_t) + (i - 1) * 8_c_intptr_t, there)
    if (gex_RMA_GetBlocking(world, c_loc(value), image - 1, there, 8_c_size_t, 0) /= 0) error stop "get"
  end function

  function co_sum(team, value) result(total)
    type(c_ptr), intent(in) :: team
    real(c_double), intent(in), target :: value
    real(c_double), target :: total
    call gex_Event_Wait(gex_Coll_ReduceToAllNB(team, c_loc(total), c_loc(value), dt_dbl, 8_c_size_t, 1_c_size_t, &
        op_add, c_null_funptr, c_null_ptr, 0))
  end function

  subroutine allocate_coarray()
    type(c_ptr) :: local
    integer(c_size_t) :: length
    integer :: image
    allocate (base(images))
    do image = 1, images
      call gex_Event_Wait(gex_EP_QueryBoundSegmentNB(world, image - 1, base(image), local, length, 0))
      if (length < n * 8) error stop "a segment is too small"
    end do
    call c_f_pointer(base(me), a, [n])
  end subroutine

  subroutine ring()
    integer :: i, right, left
    right = modulo(me, images) + 1
    left = modulo(me - 2, images) + 1
    do i = 1, n
      call put(right, i, me * 1000d0 + i)
    end do
    call sync_all()
    do i = 1, n
      call check("a(i)", a(i), left * 1000d0 + i)
      call check("a(i)[right]", get(right, i), me * 1000d0 + i)
    end do
    call sync_all()
  end subroutine

  ! change team (odd) ... end team
  subroutine teams()
    type(c_ptr) :: team
    integer :: color, image
    real(c_double) :: expected
    color = modulo(me, 2)
    if (gex_TM_Split(team, world, color, me, c_null_ptr, 0_c_size_t, no_scratch) /= 0) continue
    expected = 0
    do image = 1, images
      if (modulo(image, 2) == color) expected = expected + image
    end do
    call check("the sum of a team", co_sum(team, real(me, c_double)), expected)
    call check("this_image() of a team", real(gex_TM_QueryRank(team), c_double), real((me - 1) / 2, c_double))
    call check("what gex_TM_Destroy returns", real(gex_TM_Destroy(team, c_null_ptr, 0), c_double), 0d0)
  end subroutine
end module

program coarray
  use coarrays
  implicit none
  integer :: round
  if (gex_Client_Init(client, endpoint, world, "fortran" // c_null_char, c_null_ptr, c_null_ptr, 0) /= 0) error stop 2
  if (gex_Segment_Attach(segment, world, 65536_c_size_t) /= 0) error stop 2
  images = gex_TM_QuerySize(world)
  me = gex_TM_QueryRank(world) + 1
  call allocate_coarray()
  call sync_all()
  do round = 1, 10
    call ring()
    call teams()
    call check("co_sum", co_sum(world, real(me * round, c_double)), images * (images + 1) / 2d0 * round)
  end do
  print '("rank ", i0, " of ", i0, ": good")', me - 1, images
  flush (6)
  call sync_all()
  call gasnet_exit(0_c_int)
end program
