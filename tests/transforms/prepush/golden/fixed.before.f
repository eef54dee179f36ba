C     ONE PLANE AFTER THE OTHER
      SUBROUTINE TRANSP(N, NZ, NP, ME)
      INCLUDE 'mpif.h'
      INTEGER N, NZ, NP, ME, MAXN, MAXP
      PARAMETER (MAXN = 4, MAXP = 8)
      DOUBLE PRECISION S(MAXN,10,MAXP), R(MAXN,10,MAXP)
      COMMON /BUF/ S, R
      INTEGER I, IZ, IP, IERR
      DO 10 IZ = 1, 10
         DO 10 IP = 1, NP
            DO 10 I = 1, MAXN
               S(I,IZ,IP) = I + 10*IZ
     &                    + 100*ME
   10 CONTINUE
      CALL MPI_ALLTOALL(S, MAXN*10, MPI_DOUBLE_PRECISION, R, MAXN*10,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      END
