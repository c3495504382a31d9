import CCurl
import Foundation
import Synchronization

/// An HTTP client with time limits, a size limit for the response, and certificate verification. It follows no
/// redirects, because a credential is for one server only. It uses the proxy of the environment (`http_proxy`,
/// `https_proxy`, `no_proxy`).
package struct OutgoingClient: Hashable, Sendable {
    /// Time limits of the connection, and of the whole exchange.
    package var connectLimit: Duration, limit: Duration
    /// The largest response body in bytes.
    package var responseLimit: Int
    /// Whether a longer response is truncated instead of being an error.
    package var truncatesResponses: Bool
    /// The path of a PEM file of certification authorities; `nil` for those of the system.
    package var authorities: String?

    /// The time limit of the connection is at most that of the exchange.
    package init(
        limit: Duration = .seconds(10), connectLimit: Duration = .seconds(5), responseLimit: Int = 1 << 20,
        truncatesResponses: Bool = false, authorities: String? = nil
    ) {
        (self.limit, self.connectLimit) = (limit, min(connectLimit, limit))
        (self.responseLimit, self.truncatesResponses, self.authorities) = (
            responseLimit, truncatesResponses, authorities
        )
    }

    /// Returns the response, whatever its status. Cancellation of the task ends the exchange within a second.
    package func send(_ request: OutgoingRequest) async throws(OutgoingFailure) -> OutgoingResponse {
        try request.check()
        let exchange = OutgoingExchange(request, self)
        let result: Result<OutgoingResponse, OutgoingFailure> = await withTaskCancellationHandler {
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

package struct OutgoingRequest: Sendable {
    /// The method in upper case, and an `http://` or `https://` URL.
    package var method: String, url: String
    /// The headers in the order of transmission.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]?

    /// - Parameter token: sent as `Authorization: Bearer TOKEN` after the other headers.
    package init(
        _ method: String, _ url: String, headers: [(name: String, value: String)] = [], token: String? = nil,
        body: [UInt8]? = nil
    ) {
        (self.method, self.url, self.body) = (method, url, body)
        self.headers = headers + (token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? [])
    }

    /// Throws if the method, the URL or a header has characters that HTTP does not allow, such as a line break.
    func check() throws(OutgoingFailure) {
        func isToken(_ text: String) -> Bool {
            !text.isEmpty
                && text.utf8.allSatisfy {
                    (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
                        || "!#$%&'*+-.^_`|~".utf8.contains($0)
                }
        }
        let lower = url.prefix(8).lowercased()
        guard isToken(method) else { throw OutgoingFailure(.invalidRequest, "\"\(method)\" is not an HTTP method") }
        guard lower.hasPrefix("http://") || lower.hasPrefix("https://"), url.utf8.count <= 8192,
            url.utf8.allSatisfy({ $0 > 32 && $0 != 127 })
        else { throw OutgoingFailure(.invalidRequest, "\"\(url.prefix(200))\" is not an http:// or https:// address") }
        for header in headers {
            guard isToken(header.name), header.value.utf8.allSatisfy({ ($0 >= 32 || $0 == 9) && $0 != 127 }) else {
                throw OutgoingFailure(.invalidRequest, "The header \(header.name.debugDescription) is not valid")
            }
        }
    }
}

package struct OutgoingResponse: Sendable {
    package var status: Int
    /// The headers in the order of receipt.
    package var headers: [(name: String, value: String)] = []
    /// The body, within the client's limit.
    package var body: [UInt8] = []

    package var isSuccess: Bool { (200..<300).contains(status) }

    /// The first header with that name; case is ignored.
    package func header(_ name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }
}

/// The reason for a missing response.
package struct OutgoingFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: String, Hashable, Sendable {
        /// The address, a header or a file is invalid.
        case invalidRequest
        case unreachable
        /// The certificate or the host name is invalid.
        case tls
        /// The time limit has passed.
        case timedOut
        /// The connection was lost, or the response is not HTTP.
        case connectionFailed
        case responseTooLong
        case cancelled
    }

    package let kind: Kind
    package let sentence: String

    package init(_ kind: Kind, _ sentence: String) { (self.kind, self.sentence) = (kind, sentence) }

    package var description: String { sentence }
}

package enum OutgoingURL {
    /// Scheme, host and port for messages. Path, query and user can be secrets.
    package static func origin(_ url: String) -> String {
        guard let colon = url.firstRange(of: "://") else { return url }
        let authority = url[colon.upperBound...].prefix { !"/?#".contains($0) }
        return String(url[..<colon.upperBound])
            + (authority.lastIndex(of: "@").map { authority[authority.index(after: $0)...] } ?? authority)
    }
}

/// One exchange on its own thread. Only that thread uses libcurl's handles.
private final class OutgoingExchange: @unchecked Sendable {
    /// The largest size of all headers in bytes.
    private static let headerLimit = 64 << 10
    private static let cancelled = OutgoingFailure(.cancelled, "The request was cancelled")
    /// Initialises the library once per process, before the first handle is created.
    private static let isReady = curl_global_init(3 /* CURL_GLOBAL_ALL */) == CURLE_OK

    private let isCancelled = Mutex(false)
    private let request: OutgoingRequest
    private let client: OutgoingClient

    private var response = OutgoingResponse(status: 0)
    private var headerBytes = 0
    private var isTooLong = false, isTruncated = false

    init(_ request: OutgoingRequest, _ client: OutgoingClient) { (self.request, self.client) = (request, client) }

    /// Cancels the exchange. Thread-safe, also before the exchange begins and after it ends.
    func cancel() { isCancelled.withLock { $0 = true } }

    func run() -> Result<OutgoingResponse, OutgoingFailure> {
        do throws(OutgoingFailure) { return .success(try exchange()) } catch { return .failure(error) }
    }

    private func exchange() throws(OutgoingFailure) -> OutgoingResponse {
        guard Self.isReady, let easy = curl_easy_init() else {
            throw OutgoingFailure(.connectionFailed, "libcurl cannot be initialised")
        }
        var list: UnsafeMutablePointer<curl_slist>?
        let details = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        details.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let sent = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, request.body?.count ?? 0))
        _ = sent.initialize(from: request.body ?? [])
        defer {
            curl_easy_cleanup(easy)
            curl_slist_free_all(list)
            details.deallocate()
            sent.deallocate()
        }
        // A header without a value needs a semicolon. "Expect:" switches 100-continue off.
        for line in request.headers.map({ $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }) + ["Expect:"]
        {
            guard let longer = curl_slist_append(list, line) else {
                throw OutgoingFailure(.invalidRequest, "Out of memory for the headers")
            }
            list = longer
        }
        try prepare(easy, list, details, UnsafeBufferPointer(sent))
        guard !isCancelled.withLock({ $0 }) else { throw Self.cancelled }
        let code = curl_easy_perform(easy)
        guard code != CURLE_ABORTED_BY_CALLBACK else { throw Self.cancelled }
        guard code == CURLE_OK || isTruncated else { throw failure(code, String(cString: details)) }
        response.status = Int(waterh_curl_status(easy))
        return response
    }

    private func prepare(
        _ easy: UnsafeMutableRawPointer, _ list: UnsafeMutablePointer<curl_slist>?,
        _ details: UnsafeMutablePointer<CChar>, _ sent: UnsafeBufferPointer<UInt8>
    ) throws(OutgoingFailure) {
        if let authorities = client.authorities, access(authorities, R_OK) != 0 {
            throw OutgoingFailure(.tls, "The file \(authorities) cannot be read: \(String(cString: strerror(errno)))")
        }
        // Older versions of libcurl do not support this option. There, a slow name server delays a cancellation.
        _ = waterh_curl_set_number(easy, waterh_curl_option_quick_exit(), 1)
        let owner = Unmanaged.passUnretained(self).toOpaque()
        let body = UnsafeMutableRawPointer(mutating: sent.baseAddress)
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (waterh_curl_option_protocols(), waterh_curl_web()), (CURLOPT_FOLLOWLOCATION, 0),
            (CURLOPT_CONNECTTIMEOUT_MS, client.connectLimit.wholeMilliseconds),
            (CURLOPT_TIMEOUT_MS, client.limit.wholeMilliseconds), (CURLOPT_SSL_VERIFYPEER, 1),
            (CURLOPT_SSL_VERIFYHOST, 2), (CURLOPT_SUPPRESS_CONNECT_HEADERS, 1), (CURLOPT_NOPROGRESS, 0),
        ]
        var codes = numbers.map { waterh_curl_set_number(easy, $0.0, $0.1) }
        codes += [
            waterh_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, details),
            waterh_curl_set_text(easy, CURLOPT_URL, request.url),
            waterh_curl_set_text(easy, CURLOPT_USERAGENT, "waterh"),
            waterh_curl_set_pointer(easy, CURLOPT_HTTPHEADER, list),
            waterh_curl_set_pointer(easy, CURLOPT_WRITEDATA, owner),
            waterh_curl_set_pointer(easy, CURLOPT_HEADERDATA, owner),
            waterh_curl_set_pointer(easy, CURLOPT_XFERINFODATA, owner),
            waterh_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, owner in
                OutgoingExchange.of(owner)?.receive(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
                    ?? 0
            },
            waterh_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, owner in
                OutgoingExchange.of(owner)?.receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
                    ?? 0
            },
        ]
        codes.append(
            waterh_curl_set_progress(easy) { owner, _, _, _, _ in
                OutgoingExchange.of(owner)?.isCancelled.withLock { $0 } == true ? 1 : 0
            })
        if let authorities = client.authorities {
            codes.append(waterh_curl_set_text(easy, CURLOPT_CAINFO, authorities))
        }
        if let size = request.body?.count {
            codes.append(waterh_curl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(size)))
            codes.append(waterh_curl_set_pointer(easy, CURLOPT_POSTFIELDS, body))
        }
        if request.method == "HEAD" { codes.append(waterh_curl_set_number(easy, CURLOPT_NOBODY, 1)) }
        if request.method != "GET" || request.body != nil {
            codes.append(waterh_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, request.method))
        }
        if let code = codes.first(where: { $0 != CURLE_OK }) {
            throw OutgoingFailure(.invalidRequest, "libcurl rejects an option: \(Self.text(code))")
        }
    }

    /// The exchange that a libcurl callback's pointer refers to. It is alive, because it outlives its libcurl handle.
    private static func of(_ owner: UnsafeMutableRawPointer?) -> OutgoingExchange? {
        owner.map { Unmanaged<OutgoingExchange>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Receives a part of the body. Returns the number of accepted bytes; another number ends the exchange.
    private func receive(body bytes: UnsafeRawBufferPointer) -> Int {
        let remaining = client.responseLimit - response.body.count
        response.body.append(contentsOf: bytes.prefix(remaining))
        guard bytes.count > remaining else { return bytes.count }
        (isTruncated, isTooLong) = (client.truncatesResponses, !client.truncatesResponses)
        return 0
    }

    private func receive(header bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.headerLimit else {
            isTooLong = true
            return 0
        }
        let line = String(decoding: bytes, as: UTF8.self)
        // Drop the headers of an informational response (100 Continue).
        if line.hasPrefix("HTTP/") { response.headers = [] }
        if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespacesAndNewlines)
            response.headers.append((String(line[..<colon]), value))
        }
        return bytes.count
    }

    private static func text(_ code: CURLcode) -> String {
        curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }

    /// Converts libcurl's error code. A repeated error needs an equal message, so details with times are left out.
    private func failure(_ code: CURLcode, _ details: String) -> OutgoingFailure {
        let server = OutgoingURL.origin(request.url)
        let (text, details) = (Self.text(code), details.isEmpty ? Self.text(code) : details)
        guard !isTooLong else {
            return OutgoingFailure(.responseTooLong, "The response of \(server) is longer than the limit")
        }
        switch code {
        case CURLE_URL_MALFORMAT:
            return OutgoingFailure(.invalidRequest, "\(server) is not a valid address: \(details)")
        // All addresses are http: or https: libcurl reports HTTP/0.9 as an unsupported protocol.
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY:
            return OutgoingFailure(.connectionFailed, "The response of \(server) is not HTTP")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return OutgoingFailure(.unreachable, "The server at \(server) cannot be reached: \(text)")
        case CURLE_OPERATION_TIMEDOUT:
            return OutgoingFailure(
                .timedOut, "The server at \(server) did not answer in \(client.limit.components.seconds) s")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH,
            CURLE_SSL_ENGINE_INITFAILED, CURLE_USE_SSL_FAILED:
            return OutgoingFailure(.tls, "The certificate of \(server) is not valid: \(details)")
        default: return OutgoingFailure(.connectionFailed, "The exchange with \(server) failed: \(text)")
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        max(1, Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000))
    }
}
