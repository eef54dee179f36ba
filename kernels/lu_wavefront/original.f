C     LOWER TRIANGULAR SOLVE OF BLOCKS, PLANE AFTER PLANE.  THE RANKS
C     HAVE COLUMNS OF CELLS, AND A WAVE RUNS FROM NORTH AND WEST TO
C     SOUTH AND EAST
      PROGRAM WAVE
      USE RESULTS, ONLY: MIX_REALS, REPORT
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      DOUBLE PRECISION V, B, C
      COMMON /FIELD/ V(5,-1:NX+2,-1:NY+2,NZ), B(5,5), C(5,5)
      INTEGER ME, NP, NORTH, SOUTH, WEST, EAST
      COMMON /RANKS/ ME, NP, NORTH, SOUTH, WEST, EAST
      INTEGER*8 HASH, NRECV
      INTEGER K, ISTEP, IERROR
      DOUBLE PRECISION BEGAN, ELAPSE

      CALL MPI_INIT(IERROR)
      CALL LAYOUT
      HASH = 1
      NRECV = 0
      ELAPSE = 0
      DO 20 ISTEP = 1, NSTEPS
         CALL SETV(ISTEP)
         CALL MPI_BARRIER(MPI_COMM_WORLD, IERROR)
         BEGAN = MPI_WTIME()
         DO 10 K = 2, NZ
   10    CALL BLTS(NX, NY, K, 0.6D0, V)
         ELAPSE = ELAPSE + (MPI_WTIME() - BEGAN)
         CALL MIX_REALS(SIZE(V), V, HASH)
         NRECV = NRECV + 5*(NX + NY)*(NZ - 1)
   20 CONTINUE
      CALL REPORT('lu_wavefront', MPI_COMM_WORLD, HASH, NRECV, ELAPSE)
      CALL MPI_FINALIZE(IERROR)
      END

C     RANKS STAND IN ROWS AND COLUMNS, AS SQUARE AS THEIR NUMBER ALLOWS;
C     -1 WHERE THERE IS NO NEIGHBOUR
      SUBROUTINE LAYOUT
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INTEGER ME, NP, NORTH, SOUTH, WEST, EAST
      COMMON /RANKS/ ME, NP, NORTH, SOUTH, WEST, EAST
      INTEGER NROWS, IROW, ICOL, I, IERROR
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, IERROR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, IERROR)
      NROWS = 1
      DO 10 I = 2, NP
   10 IF (MOD(NP,I) .EQ. 0 .AND. I*I .LE. NP) NROWS = I
      IROW = MOD(ME, NROWS)
      ICOL = ME/NROWS
      NORTH = -1
      SOUTH = -1
      WEST = -1
      EAST = -1
      IF (IROW .GT. 0) NORTH = ME - 1
      IF (IROW .LT. NROWS - 1) SOUTH = ME + 1
      IF (ICOL .GT. 0) WEST = ME - NROWS
      IF (ICOL .LT. NP/NROWS - 1) EAST = ME + NROWS
      END

C     WHAT STEP ISTEP BEGINS WITH; NO CELL IS BEYOND THE RIM
      SUBROUTINE SETV(ISTEP)
      IMPLICIT NONE
      INCLUDE 'sizes.inc'
      INTEGER ISTEP, I, J, K, M
      DOUBLE PRECISION V, B, C
      COMMON /FIELD/ V(5,-1:NX+2,-1:NY+2,NZ), B(5,5), C(5,5)
      INTEGER ME, NP, NORTH, SOUTH, WEST, EAST
      COMMON /RANKS/ ME, NP, NORTH, SOUTH, WEST, EAST
      DO 10 K = 1, NZ
      DO 10 J = -1, NY + 2
      DO 10 I = -1, NX + 2
      DO 10 M = 1, 5
   10 V(M,I,J,K) = 0.0D0
      DO 20 K = 1, NZ
      DO 20 J = 1, NY
      DO 20 I = 1, NX
      DO 20 M = 1, 5
   20 V(M,I,J,K) = MOD(3*I + 5*J + 7*K + 11*M + 13*ME + ISTEP, 17)
     &             /17.0D0
      DO 30 M = 1, 5
      DO 30 I = 1, 5
         B(I,M) = 0.01D0*(I + 2*M)
   30 C(I,M) = 0.01D0*(2*I + M)
      END

C     ONE PLANE: WHAT COMES FROM BELOW, THEN THE SOLVE, WHICH NEEDS THE
C     NEIGHBOURS IN NORTH AND WEST
      SUBROUTINE BLTS(LDX, LDY, K, OMEGA, V)
      IMPLICIT NONE
      INCLUDE 'sizes.inc'
      INTEGER LDX, LDY, K, I, J, M
      DOUBLE PRECISION OMEGA, V(5,-1:LDX+2,-1:LDY+2,*), A(5,5), T(5)
      DOUBLE PRECISION V1, B, C
      COMMON /FIELD/ V1(5,-1:NX+2,-1:NY+2,NZ), B(5,5), C(5,5)

      CALL EXCHG(V, K, 0)
      DO 20 J = 1, LDY
      DO 20 I = 1, LDX
         CALL BELOW(V(1,I,J,K-1), A)
         DO 10 M = 1, 5
         V(M,I,J,K) = V(M,I,J,K)
     &      - OMEGA*(A(M,1)*V(1,I,J,K-1) + A(M,2)*V(2,I,J,K-1)
     &             + A(M,3)*V(3,I,J,K-1) + A(M,4)*V(4,I,J,K-1)
     &             + A(M,5)*V(5,I,J,K-1))
   10    CONTINUE
   20 CONTINUE
      DO 60 J = 1, LDY
      DO 60 I = 1, LDX
         DO 40 M = 1, 5
         T(M) = V(M,I,J,K)
     &      - OMEGA*(B(M,1)*V(1,I-1,J,K) + C(M,1)*V(1,I,J-1,K)
     &             + B(M,2)*V(2,I-1,J,K) + C(M,2)*V(2,I,J-1,K)
     &             + B(M,3)*V(3,I-1,J,K) + C(M,3)*V(3,I,J-1,K)
     &             + B(M,4)*V(4,I-1,J,K) + C(M,4)*V(4,I,J-1,K)
     &             + B(M,5)*V(5,I-1,J,K) + C(M,5)*V(5,I,J-1,K))
   40    CONTINUE
         CALL SOLVE5(V(1,I,J,K-1), T)
         DO 50 M = 1, 5
   50    V(M,I,J,K) = T(M)
   60 CONTINUE
      CALL EXCHG(V, K, 1)
      END

C     EXCHANGES THE RIM OF PLANE K: IEX = 0 RECEIVES FROM NORTH AND WEST,
C     IEX = 1 SENDS TO SOUTH AND EAST
      SUBROUTINE EXCHG(G, K, IEX)
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      INCLUDE 'sizes.inc'
      INTEGER K, IEX, I, J, M, IERROR, ISTAT(MPI_STATUS_SIZE)
      DOUBLE PRECISION G(5,-1:NX+2,-1:NY+2,NZ)
      DOUBLE PRECISION DUM(5,NX+NY), DUM1(5,NX+NY)
      INTEGER ME, NP, NORTH, SOUTH, WEST, EAST
      COMMON /RANKS/ ME, NP, NORTH, SOUTH, WEST, EAST

      IF (IEX .EQ. 0) THEN
         IF (NORTH .NE. -1) THEN
            CALL MPI_RECV(DUM1, 5*NY, MPI_DOUBLE_PRECISION, NORTH, 1,
     &           MPI_COMM_WORLD, ISTAT, IERROR)
            DO 10 J = 1, NY
            DO 10 M = 1, 5
   10       G(M,0,J,K) = DUM1(M,J)
         END IF
         IF (WEST .NE. -1) THEN
            CALL MPI_RECV(DUM1, 5*NX, MPI_DOUBLE_PRECISION, WEST, 2,
     &           MPI_COMM_WORLD, ISTAT, IERROR)
            DO 20 I = 1, NX
            DO 20 M = 1, 5
   20       G(M,I,0,K) = DUM1(M,I)
         END IF
      ELSE
         IF (SOUTH .NE. -1) THEN
            DO 30 J = 1, NY
            DO 30 M = 1, 5
   30       DUM(M,J) = G(M,NX,J,K)
            CALL MPI_SEND(DUM, 5*NY, MPI_DOUBLE_PRECISION, SOUTH, 1,
     &           MPI_COMM_WORLD, IERROR)
         END IF
         IF (EAST .NE. -1) THEN
            DO 40 I = 1, NX
            DO 40 M = 1, 5
   40       DUM(M,I) = G(M,I,NY,K)
            CALL MPI_SEND(DUM, 5*NX, MPI_DOUBLE_PRECISION, EAST, 2,
     &           MPI_COMM_WORLD, IERROR)
         END IF
      END IF
      END
