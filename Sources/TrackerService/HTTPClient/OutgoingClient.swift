import Foundation

/// The way out over HTTP, for all that we send: one exchange at a time limit, with a bounded answer and a certificate
/// that is checked. It follows no redirection, since a credential goes to one server only. A proxy is used where the
/// environment names one (`http_proxy`, `https_proxy`, `no_proxy`).
package struct OutgoingClient: Hashable, Sendable {
    /// How long until there is a connection.
    package var connectLimit: Duration
    /// How long the whole may take.
    package var limit: Duration
    /// So many bytes of an answer are taken.
    package var answerLimit: Int
    /// Of a longer answer its beginning is taken, and the exchange ends there: where only the status says something.
    /// Otherwise it is a failure.
    package var cutsAnswers: Bool
    /// A file in PEM with those whose word counts for the server's certificate; `nil`: the system's.
    package var authorities: String?

    /// A connection may take at most as long as the whole.
    package init(
        limit: Duration = .seconds(10), connectLimit: Duration = .seconds(5), answerLimit: Int = 1 << 20,
        cutsAnswers: Bool = false, authorities: String? = nil
    ) {
        (self.limit, self.connectLimit) = (limit, min(connectLimit, limit))
        (self.answerLimit, self.cutsAnswers, self.authorities) = (answerLimit, cutsAnswers, authorities)
    }

    /// Sends it, and waits for the whole answer. A task that is cancelled ends the exchange at once.
    package func send(_ request: OutgoingRequest) async throws(OutgoingFailure) -> OutgoingAnswer {
        try request.check()
        let exchange = OutgoingExchange(request, self)
        let result: Result<OutgoingAnswer, OutgoingFailure> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let thread = Thread { continuation.resume(returning: exchange.run()) }
                thread.name = "http"
                thread.start()
            }
        } onCancel: {
            exchange.cancel()
        }
        return try result.get()
    }
}
