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
  use ozarr_base, only: ozarr_erase, ozarr_library_version, ozarr_name_of_status
  use ozarr_nodes, only: ozarr_node, ozarr_group, ozarr_store
  use ozarr_arrays, only: ozarr_array
  use ozarr_c
  implicit none
  private

  public :: ozarr_node, ozarr_array, ozarr_group, ozarr_store, ozarr_erase, ozarr_library_version, ozarr_name_of_status
  public :: OZARR_AS_STORED, OZARR_BOOL, OZARR_INT8, OZARR_INT16, OZARR_INT32, OZARR_INT64, OZARR_UINT8
  public :: OZARR_UINT16, OZARR_UINT32, OZARR_UINT64, OZARR_FLOAT16, OZARR_FLOAT32, OZARR_FLOAT64
  public :: OZARR_INT2, OZARR_INT4, OZARR_UINT2, OZARR_UINT4, OZARR_BFLOAT16, OZARR_FLOAT8_E3M4, OZARR_FLOAT8_E4M3
  public :: OZARR_FLOAT8_E4M3B11FNUZ, OZARR_FLOAT8_E4M3FNUZ, OZARR_FLOAT8_E4M3FN, OZARR_FLOAT8_E5M2, OZARR_FLOAT8_E5M2FNUZ
  public :: OZARR_FLOAT8_E8M0FNU, OZARR_FLOAT6_E2M3FN, OZARR_FLOAT6_E3M2FN, OZARR_FLOAT4_E2M1FN
  public :: OZARR_COMPLEX64, OZARR_COMPLEX128, OZARR_ORDER_C, OZARR_ORDER_F, OZARR_CREATE_NEW, OZARR_CREATE_OVERWRITE
  public :: OZARR_CREATE_OPEN_IF_SAME, OZARR_NODE_KIND_NONE, OZARR_NODE_KIND_ARRAY, OZARR_NODE_KIND_GROUP, OZARR_NODE_KIND_UNKNOWN
  public :: OZARR_JSON_KIND_NULL, OZARR_JSON_KIND_BOOL, OZARR_JSON_KIND_INTEGER, OZARR_JSON_KIND_NUMBER, OZARR_JSON_KIND_STRING
  public :: OZARR_JSON_KIND_ARRAY, OZARR_JSON_KIND_OBJECT, OZARR_OK, OZARR_ERR_ARGUMENT, OZARR_ERR_NULL, OZARR_ERR_BOUNDS
  public :: OZARR_ERR_RANK, OZARR_ERR_BUFFER_SIZE, OZARR_ERR_TYPE, OZARR_ERR_RANGE, OZARR_ERR_NAME
  public :: OZARR_ERR_LOCATION, OZARR_ERR_INVALID_HANDLE, OZARR_ERR_READ_ONLY, OZARR_ERR_EXISTS, OZARR_ERR_STATE
  public :: OZARR_ERR_AGAIN, OZARR_ERR_CANCELLED, OZARR_ERR_FORKED, OZARR_ERR_NOT_FOUND, OZARR_ERR_NODE_KIND
  public :: OZARR_ERR_METADATA, OZARR_ERR_UNSUPPORTED, OZARR_ERR_EXTENSION, OZARR_ERR_CHUNK, OZARR_ERR_CHECKSUM
  public :: OZARR_ERR_SHARD_INDEX, OZARR_ERR_MISSING, OZARR_ERR_TRUNCATED, OZARR_ERR_PERMISSION
  public :: OZARR_ERR_CONFLICT, OZARR_ERR_TIMEOUT, OZARR_ERR_NETWORK, OZARR_ERR_THROTTLED, OZARR_ERR_RANGES
  public :: OZARR_ERR_PARTIAL, OZARR_ERR_IO, OZARR_ERR_NO_SPACE, OZARR_ERR_NO_MEMORY, OZARR_ERR_TOO_MANY_FILES
  public :: OZARR_ERR_LIMIT, OZARR_ERR_INTERNAL, OZARR_ERR_CALLBACK, OZARR_RESIZE_KEEP

end module ozarr
