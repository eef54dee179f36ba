C     ONE PLANE AFTER THE OTHER
      SUBROUTINE TRANSP(N, NZ, NP, ME)
      USE ASPHALT_RT, ONLY: ASPHALT_ENTER, ASPHALT_IRECV,
     &                      ASPHALT_ISEND, ASPHALT_PROGRESS,
     &                      ASPHALT_WAITALL, ASPHALT_SYNC,
     &                      ASPHALT_NO_REQUEST
      INCLUDE 'mpif.h'
      INTEGER N, NZ, NP, ME, MAXN, MAXP
      PARAMETER (MAXN = 4, MAXP = 8)
      DOUBLE PRECISION S(MAXN,10,MAXP), R(MAXN,10,MAXP)
      COMMON /BUF/ S, R
      INTEGER I, IZ, IP, IERR
      INCLUDE 'asphalt_params.inc'
! does not compile with K < 0 or D < 1 in the header
      INTEGER(KIND=MERGE(KIND(0), -1, ASPHALT_K_TRANSP >= 0 .AND.
     &        ASPHALT_D_TRANSP >= 1)) :: ASPHALT_K
      INTEGER :: ASPHALT_AHEAD, ASPHALT_COMM, ASPHALT_D, ASPHALT_ERR,
     &           ASPHALT_FIRST, ASPHALT_HI, ASPHALT_I, ASPHALT_LAST,
     &           ASPHALT_LO, ASPHALT_ME, ASPHALT_NP, ASPHALT_PEER,
     &           ASPHALT_POSTED, ASPHALT_SLOT, ASPHALT_TILE,
     &           ASPHALT_TILES, ASPHALT_TURN
      INTEGER, ALLOCATABLE :: ASPHALT_REQ(:)
      LOGICAL :: ASPHALT_TILED
! asphalt: MPI_Alltoall of site 'transp' prepushed along IZ
      ASPHALT_FIRST = 1
      ASPHALT_LAST = 10
      CALL ASPHALT_ENTER(MPI_COMM_WORLD, MPI_DOUBLE_PRECISION,
     &                   STORAGE_SIZE(S)/8, MAXN,
     &                   ASPHALT_LAST - ASPHALT_FIRST + 1, 1,
     &                   ASPHALT_K_TRANSP, ASPHALT_D_TRANSP, .TRUE.,
     &                   .TRUE., ASPHALT_COMM, ASPHALT_ME, ASPHALT_NP,
     &                   ASPHALT_K, ASPHALT_D, ASPHALT_ERR,
     &                   count=MAXN*10, site='transp')
      ASPHALT_TILED = ASPHALT_K > 0
      IF (ASPHALT_TILED) THEN
         ASPHALT_TILES = MAX(1,
     &       (ASPHALT_K + ASPHALT_LAST - ASPHALT_FIRST)/ASPHALT_K)
      ELSE
         ASPHALT_K = MAX(1, ASPHALT_LAST - ASPHALT_FIRST + 1)
         ASPHALT_TILES = 1
      END IF
      ALLOCATE(ASPHALT_REQ(3*ASPHALT_NP*ASPHALT_D),
     &         SOURCE=ASPHALT_NO_REQUEST)
      ASPHALT_POSTED = 0
      ASPHALT_TURN = 0
      DO ASPHALT_TILE = 0, ASPHALT_TILES - 1
         IF (ASPHALT_TILED) THEN
! receives stand ready D tiles ahead, where the call would have put the data
            DO ASPHALT_AHEAD = ASPHALT_POSTED,
     &          MIN(ASPHALT_TILE + ASPHALT_D, ASPHALT_TILES) - 1
               ASPHALT_LO = ASPHALT_FIRST + ASPHALT_AHEAD*ASPHALT_K
               ASPHALT_HI = MIN(ASPHALT_LO + ASPHALT_K - 1,
     &             ASPHALT_LAST)
               ASPHALT_SLOT = ASPHALT_NP*(ASPHALT_D +
     &             MOD(ASPHALT_AHEAD, 2*ASPHALT_D))
               DO ASPHALT_I = 1, ASPHALT_NP
                  ASPHALT_PEER = MODULO(ASPHALT_ME - ASPHALT_I,
     &                ASPHALT_NP)
                  CALL ASPHALT_IRECV(R(1,ASPHALT_LO,ASPHALT_PEER+1),
     &                MAXN*(ASPHALT_HI - ASPHALT_LO + 1),
     &                MPI_DOUBLE_PRECISION, ASPHALT_PEER, 0,
     &                ASPHALT_COMM,
     &                ASPHALT_REQ(ASPHALT_SLOT+ASPHALT_I), ASPHALT_ERR)
               END DO
            END DO
            ASPHALT_POSTED = ASPHALT_AHEAD
         END IF
         ASPHALT_LO = ASPHALT_FIRST + ASPHALT_TILE*ASPHALT_K
         ASPHALT_HI = MIN(ASPHALT_LO + ASPHALT_K - 1, ASPHALT_LAST)
      DO 10 IZ = ASPHALT_LO, ASPHALT_HI
         IF (ASPHALT_TILED) CALL ASPHALT_PROGRESS(ASPHALT_REQ,
     &       ASPHALT_TURN, ASPHALT_K, ASPHALT_ERR)
         DO 10 IP = 1, NP
            DO 10 I = 1, MAXN
               S(I,IZ,IP) = I + 10*IZ
     &                    + 100*ME
   10 CONTINUE
         IF (ASPHALT_TILED) THEN
! tile - D must be through before its slots are used
            ASPHALT_SLOT = ASPHALT_NP*(ASPHALT_D +
     &          MOD(ASPHALT_TILE + ASPHALT_D, 2*ASPHALT_D))
            CALL ASPHALT_WAITALL(ASPHALT_NP,
     &          ASPHALT_REQ(ASPHALT_SLOT+1:ASPHALT_NP+ASPHALT_SLOT),
     &          ASPHALT_ERR)
            ASPHALT_SLOT = ASPHALT_NP*MOD(ASPHALT_TILE, ASPHALT_D)
            CALL ASPHALT_WAITALL(ASPHALT_NP,
     &          ASPHALT_REQ(ASPHALT_SLOT+1:ASPHALT_NP+ASPHALT_SLOT),
     &          ASPHALT_ERR)
            DO ASPHALT_I = 1, ASPHALT_NP
               ASPHALT_PEER = MODULO(ASPHALT_ME + ASPHALT_I, ASPHALT_NP)
               CALL ASPHALT_ISEND(S(1,ASPHALT_LO,ASPHALT_PEER+1),
     &             MAXN*(ASPHALT_HI - ASPHALT_LO + 1),
     &             MPI_DOUBLE_PRECISION, ASPHALT_PEER, 0, ASPHALT_COMM,
     &             ASPHALT_REQ(ASPHALT_SLOT+ASPHALT_I), ASPHALT_ERR)
            END DO
         END IF
      END DO
      IF (ASPHALT_TILED) THEN
         CALL ASPHALT_WAITALL(3*ASPHALT_NP*ASPHALT_D, ASPHALT_REQ,
     &       ASPHALT_ERR)
         CALL ASPHALT_SYNC(S)
         CALL ASPHALT_SYNC(R)
         IERR = ASPHALT_ERR
      ELSE
      CALL MPI_ALLTOALL(S, MAXN*10, MPI_DOUBLE_PRECISION, R, MAXN*10,
     &                  MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, IERR)
      END IF
      DEALLOCATE(ASPHALT_REQ)
      END
