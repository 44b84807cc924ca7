! pmclua_mark.f90: marks of pmclua_mark.h for Fortran 2003 and later.
!
!     echo '#include <pmclua_mark.h>' | cc -O2 -c -x c -o marks.o -
!     gfortran -O2 pmclua_mark.f90 program.f90 marks.o
!
!     use pmclua_mark
!     call pmclua_mark_begin("solve")
!     call solve(x)
!     call pmclua_mark_end("solve")
!
! Names lose blanks at their end, and what lies beyond 63 bytes, as in C. Each thread counts itself, OpenMP's too.
module pmclua_mark
  use, intrinsic :: iso_c_binding, only: c_char, c_null_char
  implicit none
  private
  public :: pmclua_mark_begin, pmclua_mark_end

  integer, parameter :: name_bytes = 64                 ! PMCLUA_MARK_NAME of pmclua_mark.h

  interface
    subroutine enter(name) bind(c, name="pmclua_mark_enter")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
    subroutine leave(name) bind(c, name="pmclua_mark_leave")
      import :: c_char
      character(kind=c_char), intent(in) :: name(*)
    end subroutine
  end interface

contains

  subroutine pmclua_mark_begin(name)
    character(len=*), intent(in) :: name
    call enter(terminated(name))
  end subroutine

  subroutine pmclua_mark_end(name)
    character(len=*), intent(in) :: name
    call leave(terminated(name))
  end subroutine

  ! On the stack: memory that is allocated would be counted.
  pure function terminated(name) result(text)
    character(len=*), intent(in) :: name
    character(len=name_bytes, kind=c_char) :: text
    integer :: length
    length = min(len_trim(name), name_bytes - 1)
    text = name(1:length) // c_null_char
  end function
end module
