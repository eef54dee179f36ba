C     FIXED FORM: COMMON BUFFERS, LABELLED AND SHARED DO TERMINATIONS
      SUBROUTINE LABELS(NP, ME)
      USE SHOWING, ONLY: SHOW
      INCLUDE 'mpif.h'
      INTEGER NP, ME, N, NZ, MAXP
      PARAMETER (N = 3, NZ = 11, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,MAXP), R(N,NZ,MAXP)
      COMMON /BUFFER/ S, R
      INTEGER I, IZ, IP, IERR
      DO 30 IZ = 1, NZ
         DO 20 IP = 1, NP
            DO 10 I = 1, N
               S(I,IZ,IP) = I + 10*IZ + 100*IP
     &                      + 1000*ME
   10       CONTINUE
   20    CONTINUE
   30 CONTINUE
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('LABELS', R, N*NZ*NP)
      END

C     THE RECEIVE BUFFER IS WHAT THE PLANES ARE COMPUTED FROM
      SUBROUTINE LANDED(NP, ME)
      USE SHOWING, ONLY: SHOW
      INCLUDE 'mpif.h'
      INTEGER NP, ME, N, NZ, MAXP
      PARAMETER (N = 3, NZ = 7, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,MAXP), R(N,NZ,MAXP)
      COMMON /INPLAC/ S, R
      INTEGER I, IZ, IP, IERR
      DO 10 IP = 1, MAXP
      DO 10 IZ = 1, NZ
      DO 10 I = 1, N
   10 R(I,IZ,IP) = I + 10*IZ + 100*IP + 1000*ME
      DO 30 IZ = 1, NZ
         DO 20 IP = 1, NP
            DO 20 I = 1, N
               S(I,IZ,IP) = 2*R(I,IZ,IP) + R(1,NZ,NP)
   20    CONTINUE
   30 CONTINUE
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('LANDED', R, N*NZ*MAXP)
      END

C     A PLANE IS FINISHED BY THE NEXT ITERATION, THE FIRST IS SET BEFORE
      SUBROUTINE LATE(NP, ME)
      USE SHOWING, ONLY: SHOW
      INCLUDE 'mpif.h'
      INTEGER NP, ME, N, NZ, MAXP
      PARAMETER (N = 3, NZ = 9, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,MAXP), R(N,NZ,MAXP)
      COMMON /LATER/ S, R
      INTEGER I, IZ, IP, IERR
      DO 10 IP = 1, MAXP
      DO 10 I = 1, N
      S(I,NZ,IP) = ME
   10 S(I,1,IP) = I + ME
      DO 30 IZ = 2, NZ - 1
         DO 20 IP = 1, NP
            DO 20 I = 1, N
               S(I,IZ,IP) = I + 10*IZ + 100*IP
               IF (IZ .GT. 2 .AND. I .NE. 2) THEN
                  S(I,IZ-1,IP) = S(I,IZ-1,IP)*0.5D0
               END IF
   20    CONTINUE
   30 CONTINUE
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('LATE', R, N*NZ*NP)
      END

      subroutine shared(np, me)
      use showing, only: show
      include 'mpif.h'
      integer np, me, n, nz, maxp, i, iz, ip, ierr
      parameter (n = 2, nz = 6, maxp = 4)
      double precision s(n,nz,maxp), r(n,nz,maxp)
      do 10 iz = 1, nz
      do 10 ip = 1, np
      do 10 i = 1, n
   10 s(i,iz,ip) = i + 10*iz + 100*ip + 1000*me
      call mpi_alltoall(s, n*nz, mpi_double_precision, r, n*nz,
     1  mpi_double_precision, mpi_comm_world, ierr)
      call show('shared', r, n*nz*np)
      end

C     PLANES FOR THE RANKS IN TURN: 1, 2, 3, 1, 2, ...
      SUBROUTINE RAGGED(NP, ME)
      USE SHOWING, ONLY: SHOW
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      INCLUDE 'mpif.h'
      PARAMETER (N = 3, MAXP = 4)
      COMMON /LISTS/ IS(MAXP), JS(MAXP), IR(MAXP), JR(MAXP)
      DIMENSION S(N,3*MAXP), R(N*3*MAXP)
      M = 0
      DO 10 IP = 1, NP
         IS(IP) = N*(1 + MOD(IP-1,3))
         JS(IP) = N*M
         M = M + IS(IP)/N
         IR(IP) = N*(1 + MOD(ME,3))
   10    JR(IP) = (IP-1)*IR(IP)
      DO 20 K = 1, 3*N*MAXP
   20 R(K) = 0
      DO 30 K = 1, M
      DO 30 I = 1, N
   30 S(I,K) = K + 100*I + 1000*ME
      CALL MPI_ALLTOALLV(S, IS, JS, MPI_DOUBLE_PRECISION, R, IR, JR,
     1  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('RAGGED', R, 3*N*MAXP)
      END

      SUBROUTINE OLD(NP, ME)
      USE SHOWING, ONLY: SHOW
      IMPLICIT DOUBLE PRECISION (A-H,O-Z)
      INCLUDE 'mpif.h'
      PARAMETER (N = 3, NB = 5, MAXP = 4)
      DIMENSION W(N,NB*MAXP), S(N,NB*MAXP), R(N,NB*MAXP)
      COMMON /WORK/ W
      SAVE /WORK/
      DO 20 K = 1, NB*NP
      DO 10 I = 1, N
   10 W(I,K) = K + 100*I + 1000*ME
   20 CONTINUE
C     PACK
      DO 40 K = 1, NB*NP
         X = 0
         DO 30 I = 1, N
            IF (MOD(I,2) .NE. 0) X = X + W(I,K)
            S(I,K) = X
   30    CONTINUE
   40 CONTINUE
      CALL MPI_ALLTOALL(S, N*NB, MPI_DOUBLE_PRECISION, R, N*NB, MPI_DOUB
     1LE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('OLD', R, N*NB*NP)
      END

C     THE PLANES ARE INSIDE OF THE BLOCKS: A TILE IS STRIDED
      SUBROUTINE PLANES_INSIDE(NP, ME)
      USE SHOWING, ONLY: SHOW
      INCLUDE 'mpif.h'
      INTEGER NP, ME, N, NZ, M, MAXP
      PARAMETER (N = 2, NZ = 7, M = 3, MAXP = 4)
      DOUBLE PRECISION S(N,NZ,M,MAXP), R(N,NZ,M,MAXP)
      INTEGER I, J, IZ, IP, IERR
      DO 10 IZ = 1, NZ
      DO 10 IP = 1, NP
      DO 10 J = 1, M
      DO 10 I = 1, N
   10 S(I,IZ,J,IP) = I + 10*J + 100*IZ + 1000*IP + 10000*ME
      CALL MPI_ALLTOALL(S, N*NZ*M, MPI_DOUBLE_PRECISION, R, N*NZ*M,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('PLANES INSIDE', R, N*NZ*M*NP)
      END

C     THE PACKING LOOPS SHARE A LABEL, AND THE COPY IS LEFT OUT
      SUBROUTINE TURNED_ROWS(NP, ME)
      USE SHOWING, ONLY: SHOW
      INCLUDE 'mpif.h'
      INTEGER NP, ME, N, NZ, MAXP
      PARAMETER (N = 3, NZ = 7, MAXP = 4)
      DOUBLE PRECISION W(N,MAXP,NZ)
      REAL*8 S(NZ,N,MAXP), R(NZ,N,MAXP)
      INTEGER I, IZ, IP, IERR
      DO 20 IZ = 1, NZ
      DO 20 IP = 1, MAXP
      DO 20 I = 1, N
   20 W(I,IP,IZ) = I + 100*IZ + 1000*IP + 10000*ME
C     PACK
      DO 30 IP = 1, MAXP
      DO 30 I = 1, N
      DO 30 IZ = 1, NZ
   30 S(IZ,I,IP) = W(I,IP,NZ-IZ+1)
      CALL MPI_ALLTOALL(S, N*NZ, MPI_DOUBLE_PRECISION, R, N*NZ,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      CALL SHOW('TURNED ROWS', R, N*NZ*NP)
      END
