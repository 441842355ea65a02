! ozarr: Zarr arrays for simulation codes, in Fortran 2018.                       SPDX-License-Identifier: MIT OR Apache-2.0
!
!     use ozarr
!     type(ozarr_array) :: t
!     real(8) :: u(64, 64)
!
!     call t%create("run.zarr/temperature", OZARR_FLOAT64, [64, 64, 100], chunks=[64, 64, 1])
!     call t%write(u, start=[1, 1, 11])
!     call t%set_attr("units", "K")
!     call t%close()
!
!     call t%open("run.zarr/temperature", stat=status, errmsg=message)
!     call t%read(u(2:63, :), start=[2, 1, 11])
!
! Dimensions   are in Fortran's order, the first one running fastest: an array of shape [64, 64, 100] here has the shape
!              (100, 64, 64) in C and Python. So it is with netCDF, too. Indices and dimensions count from 1.
! Variables    may be integer, real, complex and logical of any kind that Zarr has, of rank 0 to 15, sections with any
!              strides; elements are converted from and to the array's type, and nothing is copied in between (but logicals
!              of more than one byte).
! Regions      are start, count and stride, lists of any integer kind. Without them, the variable has the shape of the array.
!              With start alone, the region has the shape of the variable, and is 1 long in the dimensions after it. With
!              count, the variable has that shape; dimensions of length 1 may be left out.
! Failures     with stat= present, a status other than 0 (OZARR_OK) is there afterwards, and the message in errmsg=, which is
!              left alone on success. Without stat=, a failure stops the program with the message.
! Handles      free themselves at the end of their scope; close also stores, and says whether that worked. A copy made by
!              assignment is another name for the same handle: once one of them is gone, the other gives an error.
module ozarr
  use ozarr_appenders, only: ozarr_appender
  use ozarr_arrays, only: ozarr_array, ozarr_comparison, ozarr_import, ozarr_indices, ozarr_open, ozarr_summary
  use ozarr_batches, only: ozarr_batch
  use ozarr_base, only: ozarr_erase, ozarr_has, ozarr_library_version, ozarr_name_of_status
  use ozarr_checkpoints, only: ozarr_checkpoint, ozarr_list_checkpoints, ozarr_prune_checkpoints
  use ozarr_constants
  use ozarr_contexts, only: ozarr_context, ozarr_get, ozarr_log_procedure, ozarr_set, ozarr_set_log
  use ozarr_copies, only: ozarr_copy
  use ozarr_datasets, only: ozarr_dataset, ozarr_time_count, ozarr_time_text
  use ozarr_dtypes, only: ozarr_dtype
  use ozarr_groups, only: ozarr_group
  use ozarr_nodes, only: ozarr_node
  use ozarr_requests, only: ozarr_end_threads, ozarr_request, ozarr_wait_all, ozarr_wait_any
  use ozarr_specs, only: ozarr_spec
  use ozarr_steps, only: ozarr_series
  use ozarr_stores, only: ozarr_store
  implicit none
  public
end module ozarr
