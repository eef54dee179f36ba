C     ONE PLANE AFTER THE OTHER
      SUBROUTINE TRANSP(N, NZ, NP, ME)
      USE ASPHALT_EXCHANGE, ONLY: ASPHALT_BEGIN, ASPHALT_EXCHANGE_T,
     &    ASPHALT_FINISHED, ASPHALT_NEXT_TILE, ASPHALT_PROGRESS,
     &    ASPHALT_SEND_TILE
      INCLUDE 'mpif.h'
      INTEGER N, NZ, NP, ME, MAXN, MAXP
      PARAMETER (MAXN = 4, MAXP = 8)
      DOUBLE PRECISION S(MAXN,10,MAXP), R(MAXN,10,MAXP)
      COMMON /BUF/ S, R
      INTEGER I, IZ, IP, IERR
      TYPE(asphalt_exchange_t) :: ASPHALT_X
      INCLUDE 'asphalt_params.inc'
! asphalt: MPI_Alltoall of site 'transp' prepushed along IZ
      CALL ASPHALT_BEGIN(ASPHALT_X, MPI_COMM_WORLD, S, R, MAXN*10,
     &                   MPI_DOUBLE_PRECISION, bytes=STORAGE_SIZE(S)/8,
     &                   unit=MAXN, first=1, last=10,
     &                   k=ASPHALT_K_TRANSP, d=ASPHALT_D_TRANSP,
     &                   uniform=.TRUE.)
      DO WHILE (ASPHALT_NEXT_TILE(ASPHALT_X))
      DO 10 IZ = ASPHALT_X%lo, ASPHALT_X%hi
         CALL ASPHALT_PROGRESS(ASPHALT_X)
         DO 10 IP = 1, NP
            DO 10 I = 1, MAXN
               S(I,IZ,IP) = I + 10*IZ
     &                    + 100*ME
   10 CONTINUE
         CALL ASPHALT_SEND_TILE(ASPHALT_X, S)
      END DO
      IF (.NOT. ASPHALT_FINISHED(ASPHALT_X, S, R, IERR)) THEN
      CALL MPI_ALLTOALL(S, MAXN*10, MPI_DOUBLE_PRECISION, R, MAXN*10,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      END IF
      END
