"""The rows of the table of library procedures; ``known_libraries`` describes their form."""

from __future__ import annotations

ROWS = """
# BLAS 1
sdcz ?copy n x<@n,incx incx y>@n,incy incy
sdcz ?swap n x=@n,incx incx y=@n,incy incy
sdcz ?scal n alpha x=@n,incx incx
sdcz ?axpy n alpha x<@n,incx incx y=@n,incy incy
sd ?dot n x<@n,incx incx y<@n,incy incy
cz ?dotu n x<@n,incx incx y<@n,incy incy
cz ?dotc n x<@n,incx incx y<@n,incy incy
sd ?nrm2 n x<@n,incx incx
c scnrm2 n x<@n,incx incx
z dznrm2 n x<@n,incx incx
sd ?asum n x<@n,incx incx
c scasum n x<@n,incx incx
z dzasum n x<@n,incx incx
sdcz i?amax n x<@n,incx incx
c csscal n alpha x=@n,incx incx
z zdscal n alpha x=@n,incx incx
sd ?rot n x=@n,incx incx y=@n,incy incy c s
sd ?rotg a= b= c> s>
# BLAS 2
sdcz ?gemv trans m n alpha a<(lda,*)[m,n] lda x<(*) incx beta y=(*) incy
sdcz ?gbmv trans m n kl ku alpha a<(lda,*) lda x<(*) incx beta y=(*) incy
sdcz ?trmv uplo trans diag n a<(lda,*)[n,n] lda x=@n,incx incx
sdcz ?trsv uplo trans diag n a<(lda,*)[n,n] lda x=@n,incx incx
sdcz ?tbmv uplo trans diag n k a<(lda,*) lda x=@n,incx incx
sdcz ?tbsv uplo trans diag n k a<(lda,*) lda x=@n,incx incx
sdcz ?tpmv uplo trans diag n ap<(*) x=@n,incx incx
sdcz ?tpsv uplo trans diag n ap<(*) x=@n,incx incx
sd ?symv uplo n alpha a<(lda,*)[n,n] lda x<@n,incx incx beta y=@n,incy incy
cz ?hemv uplo n alpha a<(lda,*)[n,n] lda x<@n,incx incx beta y=@n,incy incy
sd ?sbmv uplo n k alpha a<(lda,*) lda x<@n,incx incx beta y=@n,incy incy
cz ?hbmv uplo n k alpha a<(lda,*) lda x<@n,incx incx beta y=@n,incy incy
sd ?spmv uplo n alpha ap<(*) x<@n,incx incx beta y=@n,incy incy
cz ?hpmv uplo n alpha ap<(*) x<@n,incx incx beta y=@n,incy incy
sd ?ger m n alpha x<@m,incx incx y<@n,incy incy a=(lda,*)[m,n] lda
cz ?geru m n alpha x<@m,incx incx y<@n,incy incy a=(lda,*)[m,n] lda
cz ?gerc m n alpha x<@m,incx incx y<@n,incy incy a=(lda,*)[m,n] lda
sd ?syr uplo n alpha x<@n,incx incx a=(lda,*)[n,n] lda
cz ?her uplo n r:alpha x<@n,incx incx a=(lda,*)[n,n] lda
sd ?syr2 uplo n alpha x<@n,incx incx y<@n,incy incy a=(lda,*)[n,n] lda
cz ?her2 uplo n alpha x<@n,incx incx y<@n,incy incy a=(lda,*)[n,n] lda
sd ?spr uplo n alpha x<@n,incx incx ap=(*)
cz ?hpr uplo n r:alpha x<@n,incx incx ap=(*)
sd ?spr2 uplo n alpha x<@n,incx incx y<@n,incy incy ap=(*)
cz ?hpr2 uplo n alpha x<@n,incx incx y<@n,incy incy ap=(*)
# BLAS 3
sdcz ?gemm transa transb m n k alpha a<(lda,*) lda b<(ldb,*) ldb beta c=(ldc,*)[m,n] ldc
sdcz ?symm side uplo m n alpha a<(lda,*) lda b<(ldb,*)[m,n] ldb beta c=(ldc,*)[m,n] ldc
cz ?hemm side uplo m n alpha a<(lda,*) lda b<(ldb,*)[m,n] ldb beta c=(ldc,*)[m,n] ldc
sdcz ?syrk uplo trans n k alpha a<(lda,*) lda beta c=(ldc,*)[n,n] ldc
cz ?herk uplo trans n k r:alpha a<(lda,*) lda r:beta c=(ldc,*)[n,n] ldc
sdcz ?syr2k uplo trans n k alpha a<(lda,*) lda b<(ldb,*) ldb beta c=(ldc,*)[n,n] ldc
cz ?her2k uplo trans n k alpha a<(lda,*) lda b<(ldb,*) ldb r:beta c=(ldc,*)[n,n] ldc
sdcz ?trmm side uplo transa diag m n alpha a<(lda,*) lda b=(ldb,*)[m,n] ldb
sdcz ?trsm side uplo transa diag m n alpha a<(lda,*) lda b=(ldb,*)[m,n] ldb
# LAPACK: linear equations
sdcz ?getrf m n a=(lda,*)[m,n] lda i:ipiv~(*) i:info>
sdcz ?getrs trans n nrhs a<(lda,*)[n,n] lda i:ipiv<(*)[n] b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?getri n a=(lda,*)[n,n] lda i:ipiv<(*)[n] work~(*) lwork i:info>
sdcz ?gesv n nrhs a=(lda,*)[n,n] lda i:ipiv~(*) b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?gbtrf m n kl ku ab=(ldab,*) ldab i:ipiv~(*) i:info>
sdcz ?gbtrs trans n kl ku nrhs ab<(ldab,*) ldab i:ipiv<(*)[n] b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?gbsv n kl ku nrhs ab=(ldab,*) ldab i:ipiv~(*) b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?gtsv n nrhs dl=(*) d=(*) du=(*) b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?gttrf n dl=(*) d=(*) du=(*) du2~(*) i:ipiv~(*) i:info>
sdcz ?gttrs trans n nrhs dl<(*) d<(*) du<(*) du2<(*) i:ipiv<(*) b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?potrf uplo n a=(lda,*)[n,n] lda i:info>
sdcz ?potrs uplo n nrhs a<(lda,*)[n,n] lda b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?potri uplo n a=(lda,*)[n,n] lda i:info>
sdcz ?posv uplo n nrhs a=(lda,*)[n,n] lda b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?trtrs uplo trans diag n nrhs a<(lda,*)[n,n] lda b=(ldb,*)[n,nrhs] ldb i:info>
sdcz ?trtri uplo diag n a=(lda,*)[n,n] lda i:info>
sdcz ?ptsv n nrhs r:d=(*) e=(*) b=(ldb,*)[n,nrhs] ldb i:info>
# LAPACK: least squares and orthogonal factors
sdcz ?gels trans m n nrhs a=(lda,*)[m,n] lda b=(ldb,*) ldb work~(*) lwork i:info>
sdcz ?geqrf m n a=(lda,*)[m,n] lda tau~(*) work~(*) lwork i:info>
sd ?orgqr m n k a=(lda,*)[m,n] lda tau<(*)[k] work~(*) lwork i:info>
cz ?ungqr m n k a=(lda,*)[m,n] lda tau<(*)[k] work~(*) lwork i:info>
sd ?ormqr side trans m n k a=(lda,*) lda tau<(*)[k] c=(ldc,*)[m,n] ldc work~(*) lwork i:info>
cz ?unmqr side trans m n k a=(lda,*) lda tau<(*)[k] c=(ldc,*)[m,n] ldc work~(*) lwork i:info>
# LAPACK: eigenvalues and singular values
sd ?syev jobz uplo n a=(lda,*)[n,n] lda w~(*)[n] work~(*) lwork i:info>
sd ?syevd jobz uplo n a=(lda,*)[n,n] lda w~(*)[n] work~(*) lwork i:iwork~(*) liwork i:info>
cz ?heev jobz uplo n a=(lda,*)[n,n] lda r:w~(*)[n] work~(*) lwork r:rwork~(*) i:info>
cz ?heevd jobz uplo n a=(lda,*)[n,n] lda r:w~(*)[n] work~(*) lwork r:rwork~(*) lrwork \
    i:iwork~(*) liwork i:info>
sd ?geev jobvl jobvr n a=(lda,*)[n,n] lda wr~(*)[n] wi~(*)[n] vl~(ldvl,*) ldvl vr~(ldvr,*) ldvr \
    work~(*) lwork i:info>
cz ?geev jobvl jobvr n a=(lda,*)[n,n] lda w~(*)[n] vl~(ldvl,*) ldvl vr~(ldvr,*) ldvr work~(*) \
    lwork r:rwork~(*) i:info>
sd ?gesvd jobu jobvt m n a=(lda,*)[m,n] lda s~(*) u~(ldu,*) ldu vt~(ldvt,*) ldvt work~(*) lwork \
    i:info>
cz ?gesvd jobu jobvt m n a=(lda,*)[m,n] lda r:s~(*) u~(ldu,*) ldu vt~(ldvt,*) ldvt work~(*) \
    lwork r:rwork~(*) i:info>
sd ?steqr compz n d=(*) e=(*) z=(ldz,*) ldz work~(*) i:info>
# LAPACK: auxiliary
sdcz ?lacpy uplo m n a<(lda,*)[m,n] lda b~(ldb,*)[m,n] ldb
sdcz ?laset uplo m n alpha beta a~(lda,*)[m,n] lda
sdcz ?lange norm m n a<(lda,*)[m,n] lda r:work~(*)
# FFTW, legacy Fortran; what the arrays' sizes are is in the plan
d dfftw_plan_dft_1d x:plan~ n x:in~(*) x:out~(*) sign flags
d dfftw_plan_dft_2d x:plan~ n0 n1 x:in~(*) x:out~(*) sign flags
d dfftw_plan_dft_3d x:plan~ n0 n1 n2 x:in~(*) x:out~(*) sign flags
d dfftw_plan_dft_r2c_1d x:plan~ n x:in~(*) x:out~(*) flags
d dfftw_plan_dft_c2r_1d x:plan~ n x:in~(*) x:out~(*) flags
d dfftw_plan_dft_r2c_2d x:plan~ n0 n1 x:in~(*) x:out~(*) flags
d dfftw_plan_dft_c2r_2d x:plan~ n0 n1 x:in~(*) x:out~(*) flags
d dfftw_plan_dft_r2c_3d x:plan~ n0 n1 n2 x:in~(*) x:out~(*) flags
d dfftw_plan_dft_c2r_3d x:plan~ n0 n1 n2 x:in~(*) x:out~(*) flags
d dfftw_execute_dft x:plan x:in=(*) x:out~(*)
d dfftw_execute_dft_r2c x:plan x:in=(*) x:out~(*)
d dfftw_execute_dft_c2r x:plan x:in=(*) x:out~(*)
d dfftw_execute_r2r x:plan x:in=(*) x:out~(*)
d dfftw_destroy_plan x:plan=
s sfftw_execute_dft x:plan x:in=(*) x:out~(*)
s sfftw_execute_dft_r2c x:plan x:in=(*) x:out~(*)
s sfftw_execute_dft_c2r x:plan x:in=(*) x:out~(*)
s sfftw_destroy_plan x:plan=
# FFTW, the Fortran 2003 interface (bind(C) interfaces of fftw3.f03)
d fftw_execute_dft x:p x:in=(*) x:out~(*)
d fftw_execute_dft_r2c x:p x:in=(*) x:out~(*)
d fftw_execute_dft_c2r x:p x:in=(*) x:out~(*)
d fftw_execute_r2r x:p x:in=(*) x:out~(*)
d fftwf_execute_dft x:p x:in=(*) x:out~(*)
d fftwf_execute_dft_r2c x:p x:in=(*) x:out~(*)
d fftwf_execute_dft_c2r x:p x:in=(*) x:out~(*)
d fftw_destroy_plan x:p=
# OpenMP 5.0, 3.2: inquiries
s omp_get_max_threads
s omp_get_num_threads
s omp_get_thread_num
s omp_get_num_procs
s omp_get_num_devices
s omp_get_initial_device
s omp_get_level
s omp_in_parallel
"""
