/* One status and one message for all ranks: how collective calls begin and end. */
#include "internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ozarr_status om_error(ozarr_status status, const char *format, ...) {
    char text[OM_MESSAGE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return ozarr_set_error(status, text, NULL);
}

/* Behind "PREFIX: ", where the text begins with that. */
static const char *behind(const char *text, const char *prefix) {
    const size_t n = strlen(prefix);
    return n > 0 && strncmp(text, prefix, n) == 0 && text[n] == ':' && text[n + 1] == ' ' ? text + n + 2 : text;
}

void om_failure_of(om_failure *f, const ozarr_error_info *info) {
    memset(f, 0, sizeof *f);
    f->status = info->status, f->os_errno = info->os_errno, f->http_status = info->http_status;
    snprintf(f->key, sizeof f->key, "%s", info->key);
    snprintf(f->field, sizeof f->field, "%s", info->field);
    snprintf(f->message, sizeof f->message, "%s", behind(behind(info->message, info->key), info->field));
}

void om_failure_last(om_failure *f, ozarr_status status) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    if (ozarr_last_error_info(&info) != OZARR_OK) info.message = info.key = info.field = "";
    om_failure_of(f, &info);
    f->status = status;
}

void om_failure_begin(om_failure *f, const char *text) {
    char rest[sizeof f->message];
    memcpy(rest, f->message, sizeof rest);
    snprintf(f->message, sizeof f->message, "%s%s", text, rest);
}

/* A message that is too long with the text is cut in front of it: key, field and text fit into what ozarr keeps of an error. */
void om_failure_add(om_failure *f, const char *text) {
    const size_t most = sizeof f->message - 5, taken = strlen(text) + strlen(f->key) + strlen(f->field);
    const size_t room = taken < most ? most - taken : 0, length = strlen(f->message);
    const size_t at = length < room ? length : room;
    snprintf(f->message + at, sizeof f->message - at, "%s", text);
}

ozarr_status om_failure_set(const om_failure *f) {
    ozarr_error_info details = OZARR_ERROR_INFO_INIT;
    details.os_errno = f->os_errno, details.http_status = f->http_status, details.key = f->key, details.field = f->field;
    return ozarr_set_error(f->status, f->message, &details);
}

ozarr_status om_check(const char *call, int mpi_status) {
    if (mpi_status == MPI_SUCCESS) return OZARR_OK;
    char text[MPI_MAX_ERROR_STRING + 1] = "";
    int length = 0;
    if (MPI_Error_string(mpi_status, text, &length) != MPI_SUCCESS) length = 0;
    text[length] = 0;
    return om_error(OZARR_ERR_NETWORK, "%s: %s", call, text);
}

static uint64_t hash(const char *text) {
    uint64_t h = 14695981039346656037u;
    for (; *text; text++) h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

const char *om_cut(const char *text, size_t most, om_text *room) {
    if (text == NULL) return "NULL";
    if (strlen(text) <= most) return text;
    snprintf(room->text, sizeof room->text, "%.*s... (%016" PRIx64 ")", (int)most, text, hash(text));
    return room->text;
}

ozarr_status om_spread(ozarr_mpi *m, om_failure *f, int root) {
    const ozarr_status failed = om_check("MPI_Bcast", MPI_Bcast(f, sizeof *f, MPI_BYTE, root, m->comm));
    return failed != OZARR_OK ? failed : om_failure_set(f);
}

/* The status and message of rank `first` for all. */
static ozarr_status spread_failure(ozarr_mpi *m, ozarr_status status, int first) {
    om_failure f;
    char who[32];
    memset(&f, 0, sizeof f);
    if (m->rank == first) {
        snprintf(who, sizeof who, "rank %d: ", first);
        om_failure_last(&f, status);
        om_failure_begin(&f, who);
    }
    return om_spread(m, &f, first);
}

ozarr_status om_agree(ozarr_mpi *m, ozarr_status status, int64_t *least) {
    int64_t mine[2] = {status == OZARR_OK ? INT64_MAX : m->rank, least != NULL ? *least : 0}, all[2];
    const ozarr_status failed = om_check("MPI_Allreduce", MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MIN, m->comm));
    if (failed != OZARR_OK) return status != OZARR_OK ? status : failed;
    if (least != NULL) *least = all[1];
    return all[0] == INT64_MAX ? OZARR_OK : spread_failure(m, status, (int)all[0]);
}

/* The settings, which ranks have in common as they have calls. */
static void describe_settings(const ozarr_mpi *m, char text[OM_MESSAGE]) {
    snprintf(text, OM_MESSAGE, "aggregators %lld, round_bytes %lld, message_bytes %lld, range_bytes %lld, overlap %s, check_writes %d",
             (long long)m->aggregators, (long long)m->round_bytes, (long long)m->message_bytes, (long long)m->range_bytes,
             m->last_wins ? "last" : "refuse", m->check_writes);
}

/* Compares a text with that of rank 0, of which it tells `what` it is. */
static ozarr_status compare_text(ozarr_mpi *m, ozarr_status status, const char *what, const char *text) {
    char first[OM_MESSAGE] = "", mine[OM_MESSAGE] = "";
    snprintf(first, sizeof first, "%s", text);
    snprintf(mine, sizeof mine, "%s", text);
    const ozarr_status failed = om_check("MPI_Bcast", MPI_Bcast(first, OM_MESSAGE, MPI_CHAR, 0, m->comm));
    if (failed != OZARR_OK) return failed;
    first[OM_MESSAGE - 1] = 0;
    if (status != OZARR_OK || strcmp(first, mine) == 0) return status;
    return om_error(OZARR_ERR_ARGUMENT, "the %s %.900s, expected that of rank 0, %.900s", what, mine, first);
}

/* The calls differ: says how, on the first rank whose call, or whose settings, are not those of rank 0. */
static ozarr_status tell_difference(ozarr_mpi *m, ozarr_status status, const char *call) {
    char settings[OM_MESSAGE];
    describe_settings(m, settings);
    status = compare_text(m, status, "call is", call);
    status = compare_text(m, status, "settings are", settings);
    status = om_agree(m, status, NULL);
    /* Of very long texts only the first part is looked at. */
    return status != OZARR_OK ? status : om_error(OZARR_ERR_ARGUMENT, "the ranks' calls differ in a text of more than 2,000 bytes");
}

ozarr_status om_check_thread(void) {
    int level = MPI_THREAD_SINGLE, main_thread = 1;
    ozarr_status status = om_check("MPI_Query_thread", MPI_Query_thread(&level));
    if (status == OZARR_OK) status = om_check("MPI_Is_thread_main", MPI_Is_thread_main(&main_thread));
    if (status == OZARR_OK && !main_thread && level < MPI_THREAD_SERIALIZED)
        return om_error(OZARR_ERR_STATE, "a thread other than that of MPI_Init calls, and MPI was begun with MPI_THREAD_%s, expected "
                        "MPI_THREAD_SERIALIZED or more", level == MPI_THREAD_FUNNELED ? "FUNNELED" : "SINGLE");
    return status;
}

/* The least of each number of all ranks. Requests that go on move meanwhile: another rank may test them until it has done its part, and
 * come only then. The ranks have the same requests. */
static ozarr_status least(ozarr_mpi *m, ozarr_status status, const int64_t mine[OM_COMPARED], int64_t all[OM_COMPARED]) {
    if (m->pending == NULL) return om_check("MPI_Allreduce", MPI_Allreduce(mine, all, OM_COMPARED, MPI_INT64_T, MPI_MIN, m->comm));
    MPI_Request request = MPI_REQUEST_NULL;
    om_failure failed;
    int done = 0;
    if (status != OZARR_OK) om_failure_last(&failed, status);
    /* Where MPI fails it may go on using these. */
    memcpy(m->compared[0], mine, sizeof m->compared[0]);
    ozarr_status found =
        om_check("MPI_Iallreduce", MPI_Iallreduce(m->compared[0], m->compared[1], OM_COMPARED, MPI_INT64_T, MPI_MIN, m->comm, &request));
    for (int tries = 0; found == OZARR_OK && !done; tries++) {
        om_move_pending(m, tries);
        found = om_check("MPI_Test", MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    }
    memcpy(all, m->compared[1], sizeof m->compared[1]);
    if (found != OZARR_OK || status == OZARR_OK) return found;
    const ozarr_status kept = om_failure_set(&failed);
    OM_UNUSED(kept);
    return OZARR_OK;
}

ozarr_status om_enter(ozarr_mpi *m, ozarr_status status, om_compared compared[2], const char *call) {
    ozarr_status usable = om_valid(m, "ozarr_mpi");
    if (usable == OZARR_OK) usable = om_check_thread();
    if (usable == OZARR_OK && m->busy) usable = om_error(OZARR_ERR_STATE, "another thread is in a call with this ozarr_mpi");
    if (usable != OZARR_OK) return usable;
    if (status == OZARR_OK && m->given_up) status = om_error(OZARR_ERR_STATE, "a request was let go of while other ranks did not move it on");
    m->busy = true;
    char settings[OM_MESSAGE];
    describe_settings(m, settings);
    const int64_t h = (int64_t)((hash(call) ^ hash(settings)) >> 1);
    int64_t mine[OM_COMPARED] = {status == OZARR_OK ? INT64_MAX : m->rank, h, -h, OM_ANY, OM_ANY, OM_ANY, OM_ANY, 0}, all[OM_COMPARED];
    for (int i = 0; i < 2 && compared != NULL; i++) {
        if (compared[i].mine == OM_ANY) continue;
        mine[3 + 2 * i] = compared[i].mine, mine[4 + 2 * i] = -compared[i].mine;
    }
    om_failure own;
    if (status != OZARR_OK) om_failure_last(&own, status);
    mine[7] = -om_count_lost(m);
    if (status != OZARR_OK) status = om_failure_set(&own);
    ozarr_status agreed = least(m, status, mine, all);
    m->met = agreed == OZARR_OK;
    if (agreed == OZARR_OK && all[1] != -all[2]) agreed = tell_difference(m, status, call);
    else if (agreed == OZARR_OK && all[0] != INT64_MAX) agreed = spread_failure(m, status, (int)all[0]);
    /* What rank 0 has erased or replaced by itself. */
    if (m->met && all[7] < 0) {
        om_failure failed;
        if (agreed != OZARR_OK) om_failure_last(&failed, agreed);
        const ozarr_status told = om_tell_lost(m, -all[7]);
        agreed = agreed == OZARR_OK ? told : om_failure_set(&failed);
    }
    for (int i = 0; i < 2 && compared != NULL && agreed == OZARR_OK; i++) {
        compared[i].least = all[3 + 2 * i];
        compared[i].most = all[4 + 2 * i] == OM_ANY ? OM_ANY : -all[4 + 2 * i];
    }
    if (agreed != OZARR_OK) m->busy = false;
    return agreed;
}

ozarr_status om_leave(ozarr_mpi *m, ozarr_status status) {
    m->busy = false;
    return status;
}

/* Bytes for all ranks, in parts that an int can count. */
static ozarr_status broadcast_bytes(ozarr_mpi *m, char *bytes, size_t size) {
    ozarr_status status = OZARR_OK;
    for (size_t at = 0; at < size && status == OZARR_OK; at += (size_t)m->message_bytes) {
        const size_t part = size - at < (size_t)m->message_bytes ? size - at : (size_t)m->message_bytes;
        status = om_check("MPI_Bcast", MPI_Bcast(bytes + at, (int)part, MPI_BYTE, 0, m->comm));
    }
    return status;
}

ozarr_status om_broadcast(ozarr_mpi *m, ozarr_status status, char **bytes, size_t *size) {
    int64_t head[2] = {status, status == OZARR_OK && m->rank == 0 ? (int64_t)*size : 0};
    const ozarr_status failed = om_check("MPI_Bcast", MPI_Bcast(head, 2, MPI_INT64_T, 0, m->comm));
    if (failed != OZARR_OK) return failed;
    if (head[0] != OZARR_OK) return spread_failure(m, (ozarr_status)head[0], 0);
    if (m->rank != 0) {
        *size = (size_t)head[1];
        *bytes = malloc(*size + 1);
        if (*bytes == NULL) status = om_error(OZARR_ERR_NO_MEMORY, "%zu bytes of metadata", *size);
        else (*bytes)[*size] = 0;
    }
    status = om_agree(m, status, NULL);
    return status == OZARR_OK ? broadcast_bytes(m, *bytes, *size) : status;
}

/* A status that the program, or a function of it, made: where it is not that of the last failure, it gets a message that is not that one's. */
static ozarr_status given(ozarr_status status, const char *who) {
    ozarr_error_info info = OZARR_ERROR_INFO_INIT;
    if (status == OZARR_OK || (ozarr_last_error_info(&info) == OZARR_OK && info.status == status)) return status;
    return om_error(status, "%s gave this status; it is not that of the last failed call of ozarr, if any", who);
}

ozarr_status ozarr_mpi_once(ozarr_mpi *m, ozarr_mpi_once_fn fn, void *user) {
    ozarr_status status = om_enter(m, fn != NULL ? OZARR_OK : om_error(OZARR_ERR_NULL, "fn is NULL"), NULL, "ozarr_mpi_once");
    if (status != OZARR_OK) return status;
    if (m->rank == 0) status = fn(user);
    if (status != OZARR_OK && strcmp(ozarr_status_name(status), "OZARR_ERR_UNKNOWN") == 0)
        status = om_error(OZARR_ERR_CALLBACK, "fn returned %d, which is no status", (int)status);
    status = given(status, "fn");
    status = om_share_lost(m, status);
    int32_t agreed = status;
    const ozarr_status failed = om_check("MPI_Bcast", MPI_Bcast(&agreed, 1, MPI_INT32_T, 0, m->comm));
    if (failed != OZARR_OK) return om_leave(m, failed);
    return om_leave(m, agreed == OZARR_OK ? OZARR_OK : spread_failure(m, agreed, 0));
}

ozarr_status ozarr_mpi_agree(ozarr_mpi *m, ozarr_status status) {
    if (status != OZARR_OK && strcmp(ozarr_status_name(status), "OZARR_ERR_UNKNOWN") == 0)
        status = om_error(OZARR_ERR_ARGUMENT, "status is %d, which is no status", (int)status);
    status = given(status, "the program");
    const ozarr_status agreed = om_enter(m, status, NULL, "ozarr_mpi_agree");
    return agreed == OZARR_OK ? om_leave(m, OZARR_OK) : agreed;
}
