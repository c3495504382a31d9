import CCurl
import Foundation
import Synchronization

/// One exchange, on a thread of its own: libcurl's handles are used by that thread alone.
final class OutgoingExchange: @unchecked Sendable {
    /// So many bytes of headers are taken.
    private static let headerLimit = 64 << 10

    private struct Shared {
        var isCancelled = false
        /// The handle that can be woken, as a number: it is used under the lock only.
        var multi: UInt = 0
    }

    private let shared = Mutex(Shared())
    private let request: OutgoingRequest
    private let client: OutgoingClient

    // What follows is the thread's own.
    private var headers: [OutgoingRequest.Header] = []
    private var headerBytes = 0
    private var body: [UInt8] = []
    private var isTooLong = false
    private var isCut = false

    /// Once for the process, before the first handle.
    private static let isReady = curl_global_init(3 /* CURL_GLOBAL_ALL */) == CURLE_OK

    init(_ request: OutgoingRequest, _ client: OutgoingClient) { (self.request, self.client) = (request, client) }

    /// From any thread; also before it began and after it ended.
    func cancel() {
        shared.withLock { shared in
            shared.isCancelled = true
            if let multi = UnsafeMutableRawPointer(bitPattern: shared.multi) {
                _ = curl_multi_wakeup(multi)
            }
        }
    }

    func run() -> Result<OutgoingAnswer, OutgoingFailure> {
        do throws(OutgoingFailure) { return .success(try exchange()) } catch { return .failure(error) }
    }

    private func exchange() throws(OutgoingFailure) -> OutgoingAnswer {
        guard Self.isReady, let easy = curl_easy_init(), let multi = curl_multi_init() else {
            throw OutgoingFailure(.broken, "The HTTP library gives no handle")
        }
        var list: UnsafeMutablePointer<curl_slist>?
        // The library writes its own words for what went wrong here.
        let words = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))
        words.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        let sent = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: max(1, request.body?.count ?? 0))
        _ = sent.initialize(from: request.body ?? [])
        defer {
            shared.withLock { $0.multi = 0 }
            _ = curl_multi_remove_handle(multi, easy)
            _ = curl_multi_cleanup(multi)
            curl_easy_cleanup(easy)
            curl_slist_free_all(list)
            words.deallocate()
            sent.deallocate()
        }
        for header in request.headers {
            // A header without a value is one that the library leaves out, unless it ends with a semicolon.
            guard
                let longer = curl_slist_append(
                    list, header.value.isEmpty ? "\(header.name);" : "\(header.name): \(header.value)")
            else {
                throw OutgoingFailure(.wrongUse, "There is no memory for the headers")
            }
            list = longer
        }
        // Nobody is asked beforehand whether a long body is welcome.
        if let longer = curl_slist_append(list, "Expect:") { list = longer }
        try prepare(easy, list, words, UnsafeBufferPointer(sent))
        let number = UInt(bitPattern: multi)
        let isCancelled = shared.withLock { shared in
            shared.multi = number
            return shared.isCancelled
        }
        guard !isCancelled else { throw Self.cancelled }
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
            throw OutgoingFailure(.broken, "The HTTP library takes no request")
        }
        let code = try perform(multi)
        guard code == CURLE_OK || isCut else { throw failure(code, String(cString: words)) }
        return OutgoingAnswer(status: Int(waterh_curl_status(easy)), headers: headers, body: body)
    }

    private func perform(_ multi: UnsafeMutableRawPointer) throws(OutgoingFailure) -> CURLcode {
        while true {
            var running: Int32 = 0
            let code = curl_multi_perform(multi, &running)
            guard code == CURLM_OK else {
                throw OutgoingFailure(.broken, "The HTTP library gives up on \(request.url)")
            }
            guard !shared.withLock({ $0.isCancelled }) else { throw Self.cancelled }
            if running == 0 { break }
            _ = curl_multi_poll(multi, nil, 0, 1000, nil)
        }
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            if message.pointee.msg == CURLMSG_DONE { return message.pointee.data.result }
        }
        throw OutgoingFailure(.broken, "The HTTP library says nothing of \(request.url)")
    }

    // MARK: - What is asked for

    private func prepare(
        _ easy: UnsafeMutableRawPointer, _ list: UnsafeMutablePointer<curl_slist>?,
        _ words: UnsafeMutablePointer<CChar>, _ sent: UnsafeBufferPointer<UInt8>
    ) throws(OutgoingFailure) {
        func check(_ code: CURLcode, _ what: String) throws(OutgoingFailure) {
            guard code == CURLE_OK else {
                throw OutgoingFailure(.wrongUse, "The HTTP library does not take \(what): \(Self.words(code))")
            }
        }
        func number(_ option: CURLoption, _ value: Int, _ what: String) throws(OutgoingFailure) {
            try check(waterh_curl_set_number(easy, option, value), what)
        }
        func text(_ option: CURLoption, _ value: String, _ what: String) throws(OutgoingFailure) {
            try check(waterh_curl_set_text(easy, option, value), what)
        }
        _ = waterh_curl_set_pointer(easy, CURLOPT_ERRORBUFFER, words)
        try number(CURLOPT_NOSIGNAL, 1, "that it sends no signals")
        // A name server that is silent is not waited for at the end. Older libraries do not know this, and wait.
        _ = waterh_curl_set_number(easy, waterh_curl_option_quick_exit(), 1)
        try number(waterh_curl_option_protocols(), waterh_curl_web(), "that it speaks nothing but HTTP")
        try number(CURLOPT_FOLLOWLOCATION, 0, "that it follows nobody")
        try number(
            CURLOPT_CONNECTTIMEOUT_MS, client.connectLimit.wholeMilliseconds, "how long to wait for a connection")
        try number(CURLOPT_TIMEOUT_MS, client.limit.wholeMilliseconds, "how long to wait")
        try number(CURLOPT_SSL_VERIFYPEER, 1, "that certificates are checked")
        try number(CURLOPT_SSL_VERIFYHOST, 2, "that names in certificates are checked")
        try number(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1, "that a proxy's words are not the server's")
        if let authorities = client.authorities {
            guard access(authorities, R_OK) == 0 else {
                throw OutgoingFailure(
                    .tls, "The file \(authorities) cannot be read: \(String(cString: strerror(errno)))")
            }
            try text(CURLOPT_CAINFO, authorities, "the authorities")
        }
        try text(CURLOPT_URL, request.url, "the address")
        try text(CURLOPT_USERAGENT, "waterh", "our name")
        try check(waterh_curl_set_pointer(easy, CURLOPT_HTTPHEADER, list), "the headers")
        if request.body != nil {
            try check(
                waterh_curl_set_size(
                    easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body?.count ?? 0)),
                "the body's length")
            try check(
                waterh_curl_set_pointer(
                    easy, CURLOPT_POSTFIELDS, UnsafeMutableRawPointer(mutating: sent.baseAddress)),
                "the body")
        }
        if request.method == "HEAD" { try number(CURLOPT_NOBODY, 1, "that only headers are asked for") }
        if request.method != "GET" || request.body != nil {
            try text(CURLOPT_CUSTOMREQUEST, request.method, "the method")
        }
        let me = Unmanaged.passUnretained(self).toOpaque()
        try check(waterh_curl_set_pointer(easy, CURLOPT_WRITEDATA, me), "who takes the answer")
        try check(waterh_curl_set_pointer(easy, CURLOPT_HEADERDATA, me), "who takes the headers")
        try check(
            waterh_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, owner in
                OutgoingExchange.of(owner)?.took(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            }, "who takes the answer")
        try check(
            waterh_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, owner in
                OutgoingExchange.of(owner)?.took(header: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? 0
            }, "who takes the headers")
    }

    // MARK: - What comes

    /// What the library hands back is what it was given; the exchange outlives its handle.
    private static func of(_ owner: UnsafeMutableRawPointer?) -> OutgoingExchange? {
        owner.map { Unmanaged<OutgoingExchange>.fromOpaque($0).takeUnretainedValue() }
    }

    /// - Returns: how many bytes were taken; another number ends the exchange.
    private func took(body bytes: UnsafeRawBufferPointer) -> Int {
        guard body.count + bytes.count <= client.answerLimit else {
            (isCut, isTooLong) = (client.cutsAnswers, !client.cutsAnswers)
            if isCut { body.append(contentsOf: bytes.prefix(client.answerLimit - body.count)) }
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    private func took(header bytes: UnsafeRawBufferPointer) -> Int {
        headerBytes += bytes.count
        guard headerBytes <= Self.headerLimit else {
            isTooLong = true
            return 0
        }
        let line = String(decoding: bytes, as: UTF8.self)
        // Another head begins: what came before was in between (100 Continue).
        if line.hasPrefix("HTTP/") { headers = [] }
        if let colon = line.firstIndex(of: ":") {
            let value = line[line.index(after: colon)...]
            headers.append(
                .init(name: String(line[..<colon]), value: value.trimmingCharacters(in: .whitespacesAndNewlines)))
        }
        return bytes.count
    }

    // MARK: - What went wrong

    private static let cancelled = OutgoingFailure(.cancelled, "Nobody waits for the answer any more")

    private static func words(_ code: CURLcode) -> String {
        curl_easy_strerror(code).map { String(cString: $0) } ?? "error \(code.rawValue)"
    }

    private func failure(_ code: CURLcode, _ said: String) -> OutgoingFailure {
        let place = OutgoingURL.place(request.url)
        // The library's own sentence tells more, and in most cases milliseconds, too: the same trouble would read
        // otherwise each time.
        let (why, exactly) = (Self.words(code), said.isEmpty ? Self.words(code) : said)
        guard !isTooLong else {
            return OutgoingFailure(.tooLong, "The server at \(place) answers with more than may be taken")
        }
        switch code {
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
            return OutgoingFailure(.wrongUse, "\(place) is no address: \(exactly)")
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
            return OutgoingFailure(.unreachable, "The server at \(place) cannot be reached: \(why)")
        case CURLE_OPERATION_TIMEDOUT:
            return OutgoingFailure(
                .noAnswer, "The server at \(place) did not answer in \(client.limit.components.seconds) s")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_CIPHER, CURLE_SSL_ISSUER_ERROR,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_USE_SSL_FAILED:
            return OutgoingFailure(.tls, "The server at \(place) is not believed: \(exactly)")
        default: return OutgoingFailure(.broken, "The exchange with \(place) broke: \(why)")
        }
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int {
        max(1, Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000))
    }
}
