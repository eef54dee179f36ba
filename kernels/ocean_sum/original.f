C     HOW THE OCEAN IS DEALT: TILES IN IPR COLUMNS AND JPR ROWS; THE LAST
C     COLUMN OF THREE OR MORE IS ONLY A STRIP OF COAST.  SUMS ARE MADE OF
C     STRIPS OF 2*NBDY+1 POINTS, THE SAME ON ANY NUMBER OF RANKS; A STRIP
C     BELONGS TO THE TILE WITH ITS MIDDLE
      MODULE TILES
      IMPLICIT NONE
      PUBLIC
      INCLUDE 'sizes.inc'
      INTEGER, PARAMETER :: NBDY = 2, MAXPE = 24, NSTRIP = 2*NBDY + 1
      INTEGER, SAVE :: IPR, JPR, MPROC, NPROC, I0, II, J0, JJ, IDM, JDM
      INTEGER, SAVE :: II_PE(MAXPE), I0_PE(MAXPE)
      INTEGER, SAVE :: L0_PE(MAXPE), LL_PE(MAXPE), LDM
      INTEGER, SAVE :: JJ_PE(MAXPE), J0_PE(MAXPE), IDPROC(MAXPE,MAXPE)
      DOUBLE PRECISION, SAVE, ALLOCATABLE :: T(:,:,:), R(:,:,:)
      INTEGER, SAVE, ALLOCATABLE :: MASK(:,:)
      DOUBLE PRECISION, SAVE, ALLOCATABLE :: SUM8T(:), SUM8J(:)

      CONTAINS

C     MPROC, NPROC: COLUMN AND ROW OF RANK ME OF NP, FROM 1
      SUBROUTINE XCSPMD(ME, NP)
      INTEGER ME, NP, I, M, N
      JPR = 1
      DO I = 2, NP
         IF (MOD(NP,I) .EQ. 0 .AND. I*I .LE. NP) JPR = I
      END DO
      IPR = NP/JPR
      MPROC = MOD(ME,IPR) + 1
      NPROC = ME/IPR + 1
      IDM = 0
      JDM = 0
      LDM = 0
      DO M = 1, IPR
         IF (IPR .LT. 3) THEN
            I0_PE(M) = ((M-1)*ITDM)/IPR
            I = (M*ITDM)/IPR
         ELSE IF (M .LT. IPR) THEN
            I0_PE(M) = ((M-1)*(ITDM-NBDY))/(IPR-1)
            I = (M*(ITDM-NBDY))/(IPR-1)
         ELSE
            I0_PE(M) = ITDM - NBDY
            I = ITDM
         END IF
         II_PE(M) = I - I0_PE(M)
         L0_PE(M) = (I0_PE(M)+NBDY)/NSTRIP
         LL_PE(M) = (I+NBDY)/NSTRIP - L0_PE(M)
         IDM = MAX(IDM, II_PE(M))
         LDM = MAX(LDM, LL_PE(M))
         DO N = 1, JPR
            IDPROC(M,N) = M - 1 + (N-1)*IPR
         END DO
      END DO
      DO N = 1, JPR
         J0_PE(N) = ((N-1)*JTDM)/JPR
         JJ_PE(N) = (N*JTDM)/JPR - J0_PE(N)
         JDM = MAX(JDM, JJ_PE(N))
      END DO
      I0 = I0_PE(MPROC)
      II = II_PE(MPROC)
      J0 = J0_PE(NPROC)
      JJ = JJ_PE(NPROC)
      END SUBROUTINE XCSPMD

      END MODULE TILES


C     SUMS OVER AN OCEAN, ONE FIELD AFTER THE OTHER
      PROGRAM OCEAN
      USE RESULTS, ONLY: MIX_REALS, REPORT
      USE TILES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      DOUBLE PRECISION SUMS(NFLD)
      INTEGER*8 HASH, NRECV
      INTEGER ME, NP, I, J, L, ISTEP, MPIERR
      DOUBLE PRECISION BEGAN, ELAPSE

      CALL MPI_INIT(MPIERR)
      CALL MPI_COMM_RANK(MPI_COMM_WORLD, ME, MPIERR)
      CALL MPI_COMM_SIZE(MPI_COMM_WORLD, NP, MPIERR)
      IF (NP .GT. MAXPE) CALL MPI_ABORT(MPI_COMM_WORLD, 1, MPIERR)
      CALL XCSPMD(ME, NP)
      ALLOCATE(T(1-NBDY:IDM+NBDY,1-NBDY:JDM+NBDY,NFLD))
      ALLOCATE(R(1-NBDY:IDM+NBDY,1-NBDY:JDM+NBDY,NFLD))
      ALLOCATE(MASK(1-NBDY:IDM+NBDY,1-NBDY:JDM+NBDY))
      ALLOCATE(SUM8T(MAX(JDM*MAX(LDM,1),JTDM)), SUM8J(JDM))
      MASK = 0
      R = 0.0D0
      T = 0.0D0
      DO J = 1, JJ
         DO I = 1-NBDY, II+NBDY
            DO L = 1, NFLD
               T(I,J,L) = MOD(3*(I0+I+NBDY) + 5*(J0+J) + 7*L, 31)
            END DO
            IF (MOD((I0+I+NBDY)*(J0+J), 7) .NE. 0) MASK(I,J) = 1
         END DO
      END DO
      HASH = 1
      NRECV = 0
      ELAPSE = 0
      DO ISTEP = 1, NSTEPS
         CALL MPI_BARRIER(MPI_COMM_WORLD, MPIERR)
         BEGAN = MPI_WTIME()
         DO L = 1, NFLD
            DO J = 1, JJ
               CALL RELAX(II+2*NBDY, ISTEP, T(1-NBDY,J,L))
            END DO
            CALL XCSUM(SUMS(L), T(1-NBDY,1-NBDY,L))
            DO J = 1, JJ
               CALL DENSE(II, T(1,J,L), R(1,J,L))
            END DO
         END DO
         ELAPSE = ELAPSE + (MPI_WTIME() - BEGAN)
         CALL MIX_REALS(NFLD, SUMS, HASH)
         NRECV = NRECV + NFLD
      END DO
      CALL MIX_REALS(SIZE(R), R, HASH)
      CALL REPORT('ocean_sum', MPI_COMM_WORLD, HASH, NRECV, ELAPSE)
      DEALLOCATE(T, R, MASK, SUM8T, SUM8J)
      CALL MPI_FINALIZE(MPIERR)
      END PROGRAM OCEAN


C     THE SUM OF A OVER THE SEA ON ALL RANKS, ALWAYS ADDED IN THE SAME
C     ORDER: STRIPS TO THE FIRST RANK OF EACH ROW, ROWS TO THE FIRST RANK
      SUBROUTINE XCSUM(TOTAL, A)
      USE TILES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      DOUBLE PRECISION TOTAL, A(1-NBDY:IDM+NBDY,1-NBDY:JDM+NBDY)
      DOUBLE PRECISION SCL(1-NBDY:IDM+NBDY), SUM8
      INTEGER MPISTAT(MPI_STATUS_SIZE)
      INTEGER I, I1, J, L, MP, NP, MPIERR

C     THE STRIPS OF THE OWN TILE
      DO J = 1, JJ
         CALL METRIC(II+2*NBDY, I0-NBDY, J0+J, SCL)
         DO L = 1, LL_PE(MPROC)
            I1 = (L0_PE(MPROC)+L-1)*NSTRIP + 1 - I0
            SUM8 = 0.0D0
            DO I = MAX(1-NBDY,I1), MIN(II+NBDY,I1+NSTRIP-1)
               IF (MASK(I,J) .EQ. 1) SUM8 = SUM8 + A(I,J)*SCL(I)
            END DO
            SUM8T(L+(J-1)*LL_PE(MPROC)) = SUM8
         END DO
      END DO

      IF (MPROC .EQ. 1) THEN
C        ROWS: THE OWN STRIPS, THEN THOSE OF EACH OTHER RANK
         DO J = 1, JJ
            SUM8J(J) = 0.0D0
            DO L = 1, LL_PE(1)
               SUM8J(J) = SUM8J(J) + SUM8T(L+(J-1)*LL_PE(1))
            END DO
         END DO
         DO MP = 2, IPR
            IF (LL_PE(MP) .GT. 0) THEN
               CALL MPI_RECV(SUM8T, LL_PE(MP)*JJ, MPI_DOUBLE_PRECISION,
     &              IDPROC(MP,NPROC), 9951, MPI_COMM_WORLD, MPISTAT,
     &              MPIERR)
               DO J = 1, JJ
                  DO L = 1, LL_PE(MP)
                     SUM8J(J) = SUM8J(J) + SUM8T(L+(J-1)*LL_PE(MP))
                  END DO
               END DO
            END IF
         END DO

C        ALL ROWS
         IF (NPROC .EQ. 1) THEN
            TOTAL = 0.0D0
            DO J = 1, JJ
               TOTAL = TOTAL + SUM8J(J)
            END DO
            DO NP = 2, JPR
               CALL MPI_RECV(SUM8T, JJ_PE(NP), MPI_DOUBLE_PRECISION,
     &              IDPROC(1,NP), 9961, MPI_COMM_WORLD, MPISTAT,
     &              MPIERR)
               DO J = 1, JJ_PE(NP)
                  TOTAL = TOTAL + SUM8T(J)
               END DO
            END DO
         ELSE
            CALL MPI_SEND(SUM8J, JJ, MPI_DOUBLE_PRECISION, IDPROC(1,1),
     &           9961, MPI_COMM_WORLD, MPIERR)
         END IF
      ELSE IF (LL_PE(MPROC) .GT. 0) THEN
         CALL MPI_SEND(SUM8T, LL_PE(MPROC)*JJ, MPI_DOUBLE_PRECISION,
     &        IDPROC(1,NPROC), 9951, MPI_COMM_WORLD, MPIERR)
      END IF
      CALL MPI_BCAST(TOTAL, 1, MPI_DOUBLE_PRECISION, IDPROC(1,1),
     &     MPI_COMM_WORLD, MPIERR)
      END SUBROUTINE XCSUM
