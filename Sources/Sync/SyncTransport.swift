import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One HTTP exchange at a time limit: follows no redirection (a credential goes to one server only, and the page that a
/// network shows before its login is no answer), and takes no more than `bodyLimit` bytes.
final class SyncTransport: NSObject, URLSessionDataDelegate {
    struct Answer: Sendable {
        var status: Int
        var contentType: String?
        var body: Data
    }

    /// Years of sessions fit.
    static let bodyLimit = 16 << 20

    private struct Exchange {
        var answer: Answer?
        var body = Data()
        var isTooLong = false
        var done: CheckedContinuation<Answer?, Never>
    }

    private let exchanges = Mutex<[ObjectIdentifier: Exchange]>([:])
    private let configuration: URLSessionConfiguration

    init(timeoutSeconds: Double) {
        configuration = .ephemeral
        configuration.timeoutIntervalForRequest = timeoutSeconds
        configuration.timeoutIntervalForResource = timeoutSeconds
        configuration.httpShouldSetCookies = false
    }

    /// The answer, whatever its status; `nil` where there was none, or one without an end.
    func send(_ request: URLRequest) async -> Answer? {
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        defer { session.finishTasksAndInvalidate() }
        return await withCheckedContinuation { done in
            let task = session.dataTask(with: request)
            exchanges.withLock { $0[ObjectIdentifier(task)] = Exchange(done: done) }
            task.resume()
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let http = response as? HTTPURLResponse {
            exchanges.withLock {
                $0[ObjectIdentifier(dataTask)]?.answer = Answer(
                    status: http.statusCode, contentType: http.value(forHTTPHeaderField: "Content-Type"), body: Data())
            }
        }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLong = exchanges.withLock { exchanges in
            let key = ObjectIdentifier(dataTask)
            guard var exchange = exchanges[key] else { return false }
            exchange.isTooLong = exchange.isTooLong || exchange.body.count + data.count > Self.bodyLimit
            if !exchange.isTooLong { exchange.body.append(data) }
            exchanges[key] = exchange
            return exchange.isTooLong
        }
        if isTooLong { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let exchange = exchanges.withLock({ $0.removeValue(forKey: ObjectIdentifier(task)) }) else { return }
        var answer = exchange.answer ?? (task.response as? HTTPURLResponse).map {
            Answer(status: $0.statusCode, contentType: $0.value(forHTTPHeaderField: "Content-Type"), body: Data())
        }
        answer?.body = exchange.body
        // A redirection that was not followed ends the task in its own way: the status says enough.
        let isRedirection = answer.map { (300..<400).contains($0.status) } ?? false
        exchange.done.resume(returning: exchange.isTooLong || (error != nil && !isRedirection) ? nil : answer)
    }
}
