import Foundation
import Support
import Testing

@testable import TrackerService

@Suite struct OutgoingTests {
    private let client = OutgoingClient(limit: .seconds(5))

    /// The failure of a request; `nil` for a response.
    private static func failure(_ client: OutgoingClient, _ request: OutgoingRequest) async -> OutgoingFailure? {
        do throws(OutgoingFailure) { _ = try await client.send(request) } catch { return error }
        return nil
    }

    @Test func `a request and its response are transferred`() async throws {
        let peer = try await WebPeer()
        let rule = #"{"status": 418, "headers": {"Retry-After": "7", "X-Empty": ""}, "body": "tea ☕"}"#
        try peer.rule(rule, once: true)
        let body = "water 💧\u{0}\r\n"
        let answer = try await client.send(
            OutgoingRequest(
                "PUT", "\(peer.url)/a%20b?c=d",
                headers: [("Authorization", "Bearer s3cret"), ("X-Nothing", ""), ("Title", "Ä")], body: Array(body.utf8)
            ))
        #expect(answer.status == 418 && !answer.isSuccess && String(decoding: answer.body, as: UTF8.self) == "tea ☕")
        #expect(
            answer.header("retry-after") == "7" && answer.header("X-EMPTY") == "" && answer.header("nowhere") == nil)
        let seen = try #require(try peer.requests().first)
        #expect(seen.method == "PUT" && seen.path == "/a%20b?c=d" && seen.body == body)
        #expect(
            seen.headers["authorization"] == "Bearer s3cret" && seen.headers["x-nothing"] == ""
                && seen.headers["user-agent"] == "waterh" && seen.headers["expect"] == nil)
    }

    @Test(arguments: ["GET", "POST", "DELETE", "HEAD"])
    func `a request without a body is sent with each method`(method: String) async throws {
        let peer = try await WebPeer()
        let answer = try await client.send(OutgoingRequest(method, "\(peer.url)/x"))
        #expect(answer.status == 200 && answer.body.isEmpty == (method == "HEAD"))
        #expect(try peer.requests().map(\.method) == [method])
    }

    /// Credentials go to one server only, and a local file is not a response.
    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "http://127.0.0.1:1/"])
    func `redirects are not followed`(to place: String) async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"status": 302, "headers": {"Location": "\#(place)"}}"#, once: true)
        #expect(try await client.send(OutgoingRequest("GET", peer.url)).status == 302)
        #expect(try peer.requests().count == 1)
    }

    @Test(arguments: [
        ("file:///etc/passwd", "GET", ""), ("gopher://h/", "GET", ""), ("h", "GET", ""), ("http://a b/", "GET", ""),
        ("http://h/\r\nX: y", "GET", ""),
        ("http://h/", "GET /", ""), ("http://h/", "", ""), ("http://h/", "GET", "a\r\nX: y"),
        ("http://h/", "GET", "a\0"),
    ])
    func `an invalid request is rejected before it is sent`(url: String, method: String, value: String) async throws {
        let failure = await Self.failure(client, OutgoingRequest(method, url, headers: [("X-A", value)]))
        #expect(failure?.kind == .invalidRequest)
    }

    static let bad: [(String, OutgoingFailure.Kind)] = [
        (#"{"silent": 30}"#, .timedOut), (#"{"drip": true}"#, .timedOut), (#"{"close": true}"#, .connectionFailed),
        (#"{"cut": true, "body": "0123456789"}"#, .connectionFailed),
        (#"{"garbage": true}"#, .connectionFailed), (#"{"flood": 100000000}"#, .responseTooLong),
    ]

    /// A server that is silent, slow, disconnects, aborts, does not send HTTP or sends 100 MB: always the same message,
    /// in time.
    @Test(arguments: bad)
    func `a failing server is reported within the time limit`(rule: String, kind: OutgoingFailure.Kind) async throws {
        let peer = try await WebPeer()
        try peer.rule(rule)
        let client = OutgoingClient(limit: .seconds(1), responseLimit: 1 << 16)
        let began = ContinuousClock.now
        var sentences: Set<String> = []
        for _ in 0..<2 {
            let failure = await Self.failure(client, OutgoingRequest("POST", "\(peer.url)/secret-topic", body: [1]))
            #expect(failure?.kind == kind)
            sentences.insert(failure?.sentence ?? "")
        }
        #expect(sentences.count == 1 && sentences.first?.contains("secret") == false, "\(sentences)")
        #expect(ContinuousClock.now - began < .seconds(10))
    }

    @Test func `a response is truncated when only its status is needed`() async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"flood": 300000}"#)
        let client = OutgoingClient(limit: .seconds(10), responseLimit: 1 << 16, truncatesResponses: true)
        let answer = try await client.send(OutgoingRequest("POST", peer.url, body: [1]))
        #expect(answer.status == 200 && answer.body.count == 1 << 16)
    }

    @Test func `a request fails when no server listens`() async throws {
        let port = try Broker.freePort()
        let failure = await Self.failure(client, OutgoingRequest("GET", "http://me:s3cret@127.0.0.1:\(port)/topic"))
        #expect(failure?.kind == .unreachable)
        #expect(
            failure?.sentence.contains("http://127.0.0.1:\(port)") == true
                && failure?.sentence.contains("s3cret") == false)
    }

    @Test func `a cancelled request ends at once`() async throws {
        let peer = try await WebPeer()
        try peer.rule(#"{"silent": 30}"#)
        let client = OutgoingClient(limit: .seconds(30))
        let work = Task { await Self.failure(client, OutgoingRequest("GET", peer.url))?.kind }
        _ = try await peer.requests(1)
        let began = ContinuousClock.now
        work.cancel()
        #expect(await work.value == .cancelled)
        #expect(ContinuousClock.now - began < .seconds(5))
        // Cancelled before it started.
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return await Self.failure(client, OutgoingRequest("GET", peer.url))?.kind
        }
        #expect(await late.value == .cancelled)
    }

    /// The certificate and its name are verified with the system's authorities, or those in the configured file.
    @Test func `the certificate and the host name of a server are verified`() async throws {
        let certificates = try await Certificates()
        let peer = try await WebPeer(
            certificate: (certificates.file("server.pem"), certificates.file("server.key")))
        let (good, other) = ("https://localhost:\(peer.port)/", "\(peer.url)/")
        #expect(
            try await OutgoingClient(authorities: certificates.file("ca.pem")).send(OutgoingRequest("GET", good)).status
                == 200)
        for (client, url) in [
            (OutgoingClient(), good), (OutgoingClient(authorities: certificates.file("ca.pem")), other),
            (OutgoingClient(authorities: certificates.file("nowhere.pem")), good),
            (OutgoingClient(authorities: certificates.file("server.key")), good),
        ] {
            let failure = await Self.failure(client, OutgoingRequest("GET", url))
            #expect(failure?.kind == .tls, "\(url): \(String(describing: failure))")
        }
    }

    @Test func `many requests run concurrently`() async throws {
        let peer = try await WebPeer()
        let client = client
        let statuses = await withTaskGroup(of: Int?.self) { group in
            for number in 0..<40 {
                group.addTask {
                    try? await client.send(
                        OutgoingRequest("POST", "\(peer.url)/\(number)", body: Array("\(number)".utf8))
                    ).status
                }
            }
            return await group.reduce(into: [Int?]()) { $0.append($1) }
        }
        #expect(statuses.count == 40 && statuses.allSatisfy { $0 == 200 })
        #expect(Set(try peer.requests().map(\.body)).count == 40)
    }
}
