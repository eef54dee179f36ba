C     THE BLOCK A(5,5) THAT COUPLES A CELL TO THE ONE BELOW, WHOSE STATE
C     IS W
      SUBROUTINE BELOW(W, A)
      IMPLICIT NONE
      DOUBLE PRECISION W(5), A(5,5)
      INTEGER M, N
      DO 20 N = 1, 5
      DO 10 M = 1, 5
   10 A(M,N) = 0.1D0*W(M)*W(N)/(1.0D0 + W(M)**2 + W(N)**2)
   20 A(N,N) = A(N,N) + 0.2D0
      END

C     SOLVES D X = T FOR A CELL WHOSE STATE IS W: ITS BLOCK D(5,5) IS
C     ELIMINATED WITHOUT PIVOTS, SINCE THE DIAGONAL DOMINATES.  X IS IN T
      SUBROUTINE SOLVE5(W, T)
      IMPLICIT NONE
      DOUBLE PRECISION W(5), T(5), D(5,5), F
      INTEGER L, M, N
      DO 20 N = 1, 5
      DO 10 M = 1, 5
   10 D(M,N) = 0.2D0*(W(M) - W(N))/(1.0D0 + W(M)**2 + W(N)**2)
   20 D(N,N) = 1.5D0
      DO 50 L = 1, 4
      DO 40 M = L + 1, 5
         F = D(M,L)/D(L,L)
         DO 30 N = L + 1, 5
   30    D(M,N) = D(M,N) - F*D(L,N)
   40 T(M) = T(M) - F*T(L)
   50 CONTINUE
      DO 70 M = 5, 1, -1
         DO 60 N = M + 1, 5
   60    T(M) = T(M) - D(M,N)*T(N)
   70 T(M) = T(M)/D(M,M)
      END
