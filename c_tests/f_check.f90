! A tiny test helper: checks that say where and what; a program of tests ends with `call finish()`.
module f_check
  implicit none
  integer :: failures = 0
contains
  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    failures = failures + 1
    print *, "not so: ", what
  end subroutine check

  ! A call that failed with that status, and a message with that word.
  subroutine failed(stat, expected, message, word, what)
    integer, intent(in) :: stat, expected
    character(*), intent(in) :: message, word, what
    if (stat == expected .and. index(message, word) > 0) return
    failures = failures + 1
    print *, what, ": found status ", stat, " and '", trim(message), "', expected ", expected, " with '", word, "'"
  end subroutine failed

  subroutine finish()
    if (failures > 0) error stop "some checks failed"
  end subroutine finish
end module f_check
