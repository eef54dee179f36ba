C     HOW THE OCEAN IS DEALT: TILES IN IPR COLUMNS AND JPR ROWS, NOT ALL
C     OF THE SAME SIZE
      MODULE TILES
      IMPLICIT NONE
      PUBLIC
      INCLUDE 'sizes.inc'
      INTEGER, PARAMETER :: NBDY = 2, MAXPE = 24
      INTEGER, SAVE :: IPR, JPR, MPROC, NPROC, I0, II, J0, JJ, IDM, JDM
      INTEGER, SAVE :: II_PE(MAXPE,MAXPE), I0_PE(MAXPE,MAXPE)
      INTEGER, SAVE :: JJ_PE(MAXPE), J0_PE(MAXPE), IDPROC(MAXPE,MAXPE)
      DOUBLE PRECISION, PARAMETER :: VLAND = -1.0D3
      DOUBLE PRECISION, SAVE, ALLOCATABLE :: T(:,:,:), R(:,:,:)
      DOUBLE PRECISION, SAVE, ALLOCATABLE :: AL(:,:), AT(:)

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
      DO N = 1, JPR
         J0_PE(N) = (N-1)*(JTDM/JPR) + MIN(N-1, MOD(JTDM,JPR))
         JJ_PE(N) = JTDM/JPR
         IF (N .LE. MOD(JTDM,JPR)) JJ_PE(N) = JJ_PE(N) + 1
         JDM = MAX(JDM, JJ_PE(N))
         I = 0
         DO M = 1, IPR
            IDPROC(M,N) = M - 1 + (N-1)*IPR
            II_PE(M,N) = ITDM/IPR
            IF (MOD(M+N,IPR) .LT. MOD(ITDM,IPR))
     &         II_PE(M,N) = II_PE(M,N) + 1
            I0_PE(M,N) = I
            I = I + II_PE(M,N)
            IDM = MAX(IDM, II_PE(M,N))
         END DO
      END DO
      I0 = I0_PE(MPROC,NPROC)
      II = II_PE(MPROC,NPROC)
      J0 = J0_PE(NPROC)
      JJ = JJ_PE(NPROC)
      END SUBROUTINE XCSPMD

      END MODULE TILES


C     FIELDS OF AN OCEAN ARE GATHERED, ONE AFTER THE OTHER
      PROGRAM OCEAN
      USE RESULTS, ONLY: MIX_REALS, REPORT
      USE TILES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      DOUBLE PRECISION, ALLOCATABLE :: AA(:,:,:)
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
      ALLOCATE(AL(ITDM,JDM), AT(IDM*JDM), AA(ITDM,JTDM,NFLD))
      AA = 0.0D0
      R = 0.0D0
      T = 0.0D0
      DO L = 1, NFLD
         DO J = 1, JJ
            DO I = 1, II
               T(I,J,L) = MOD(3*(I0+I) + 5*(J0+J) + 7*L, 31)
            END DO
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
               CALL RELAX(II, ISTEP, T(1,J,L))
            END DO
            CALL XCAGET(AA(1,1,L), T(1-NBDY,1-NBDY,L))
            DO J = 1, JJ
               CALL DENSE(II, T(1,J,L), R(1,J,L))
            END DO
         END DO
         ELAPSE = ELAPSE + (MPI_WTIME() - BEGAN)
         CALL MIX_REALS(SIZE(AA), AA, HASH)
         CALL MIX_REALS(SIZE(R), R, HASH)
         NRECV = NRECV + SIZE(AA)
      END DO
      CALL REPORT('ocean_gather', MPI_COMM_WORLD, HASH, NRECV, ELAPSE)
      DEALLOCATE(T, R, AL, AT, AA)
      CALL MPI_FINALIZE(MPIERR)
      END PROGRAM OCEAN


C     GATHERS THE TILES A OF ALL RANKS ON THE FIRST ONE, IN AA: FIRST TO
C     THE FIRST RANK OF EACH ROW, FROM THERE TO THE FIRST RANK OF ALL
      SUBROUTINE XCAGET(AA, A)
      USE TILES
      IMPLICIT NONE
      INCLUDE 'mpif.h'
      DOUBLE PRECISION AA(ITDM,JTDM)
      DOUBLE PRECISION A(1-NBDY:IDM+NBDY,1-NBDY:JDM+NBDY)
      DOUBLE PRECISION SCL(IDM)
      INTEGER MPISTAT(MPI_STATUS_SIZE)
      INTEGER I, J, MP, NP, MPIERR

C     ROWS TO THEIR FIRST RANK
      IF (MPROC .EQ. 1) THEN
         DO J = 1, JJ
            CALL METRIC(II, I0, J0+J, SCL)
            DO I = 1, I0
               AL(I,J) = VLAND
            END DO
            DO I = 1, II
               AL(I0+I,J) = A(I,J)*SCL(I)
            END DO
            DO I = I0+II+1, ITDM
               AL(I,J) = VLAND
            END DO
         END DO
         DO MP = 2, IPR
            CALL MPI_RECV(AT, II_PE(MP,NPROC)*JJ, MPI_DOUBLE_PRECISION,
     &           IDPROC(MP,NPROC), 9931, MPI_COMM_WORLD, MPISTAT,
     &           MPIERR)
            DO J = 1, JJ
               CALL METRIC(II_PE(MP,NPROC), I0_PE(MP,NPROC), J0+J, SCL)
               DO I = 1, II_PE(MP,NPROC)
                  AL(I0_PE(MP,NPROC)+I,J) =
     &               AT(I+(J-1)*II_PE(MP,NPROC))*SCL(I)
               END DO
            END DO
         END DO
      ELSE
         DO J = 1, JJ
            DO I = 1, II
               AT(I+(J-1)*II) = A(I,J)
            END DO
         END DO
         CALL MPI_SEND(AT, II*JJ, MPI_DOUBLE_PRECISION,
     &        IDPROC(1,NPROC), 9931, MPI_COMM_WORLD, MPIERR)
      END IF

C     ALL ROWS TO THE FIRST RANK
      IF (MPROC .EQ. 1 .AND. NPROC .EQ. 1) THEN
         DO J = 1, JJ
            DO I = 1, ITDM
               AA(I,J0+J) = AL(I,J)
            END DO
         END DO
         DO NP = 2, JPR
            CALL MPI_RECV(AL, ITDM*JJ_PE(NP), MPI_DOUBLE_PRECISION,
     &           IDPROC(1,NP), 9941, MPI_COMM_WORLD, MPISTAT, MPIERR)
            DO J = 1, JJ_PE(NP)
               DO I = 1, ITDM
                  AA(I,J0_PE(NP)+J) = AL(I,J)
               END DO
            END DO
         END DO
      ELSE IF (MPROC .EQ. 1) THEN
         CALL MPI_SEND(AL, ITDM*JJ, MPI_DOUBLE_PRECISION,
     &        IDPROC(1,1), 9941, MPI_COMM_WORLD, MPIERR)
      END IF
      END SUBROUTINE XCAGET
