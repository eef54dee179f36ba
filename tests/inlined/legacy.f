      SUBROUTINE SWAP(G,K,WHICH)
C     the neighbours stand in a COMMON block
      INCLUDE 'mpif.h'
      INTEGER NX,NEXT,LAST
      COMMON /NEIGH/ NX,NEXT,LAST
      INTEGER K,WHICH,I,IERROR,STATUS(MPI_STATUS_SIZE)
      DOUBLE PRECISION G(5,0:7,*),DUM(5)
      IF (WHICH.EQ.0) GO TO 20
C     to the next
      DO 10 I=1,5
        DUM(I)=G(I,1,K)
   10 CONTINUE
      CALL MPI_SEND(DUM,5,MPI_DOUBLE_PRECISION,NEXT,1,
C       a comment between
     &              MPI_COMM_WORLD,IERROR)
      GO TO 30
   20 CALL MPI_RECV(DUM,5,MPI_DOUBLE_PRECISION,LAST,1,
     &              MPI_COMM_WORLD,STATUS,IERROR)
      DO 25 I=1,5
   25 G(I,0,K)=DUM(I)
   30 RETURN
      END

      SUBROUTINE SWEEP(A,K)
      INTEGER K
      INTEGER NMAX
      PARAMETER (NMAX=6)
      DOUBLE PRECISION A(5,-1:NMAX,*)
      DO 10 I=0,NMAX-1
      DO 10 M=1,5
   10 A(M,I,K)=A(M,I,K)+M
      CALL SWAP(A,K,1)
      CALL SWAP(A,K,0)
      END
